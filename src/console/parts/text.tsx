import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { createStore, useStore } from "../store.ts";
import { Icon } from "./icon.tsx";
import { exact, exactTimes, relative } from "./time.ts";
import { visible } from "./visible.ts";

export { visible } from "./visible.ts";

/** What people called something: isolated, so that a right-to-left name turns nothing else around. */
export function Name({ children }: { children: string | null | undefined }) {
  const shown = visible(children ?? "");
  return (
    <bdi class="name" title={shown.length > 20 ? shown : undefined}>
      {shown === "" ? "(no name)" : shown}
    </bdi>
  );
}

/** What somebody gave as a reason: whole, on as many lines as it takes. */
export const Said = ({ children }: { children: string }) => <bdi class="said">{visible(children)}</bdi>;

/** Said aloud by screen readers, and shown for a moment. */
export const said = createStore("");
export const say = (text: string): void => said.set(visible(text));

/** A slug or an id, with a button that copies it. `main`: copying it is what the reader does next. */
export function Copy({
  children,
  label,
  main,
  done,
}: {
  children: string;
  label: string;
  main?: boolean;
  done?: () => void;
}) {
  const [copied, setCopied] = useState(false);
  const code = useRef<HTMLElement>(null);
  const copy = async () => {
    if (await write(children)) {
      setCopied(true);
      done?.();
      say(`${label[0]!.toUpperCase()}${label.slice(1)} copied`);
      setTimeout(() => setCopied(false), 1500);
      return;
    }
    getSelection()?.selectAllChildren(code.current!);
    say(`The browser does not let the page copy. The ${label} is selected: copy it yourself`);
  };
  return (
    <span class={main ? "copy main" : "copy"}>
      <code ref={code} title={children.length > 20 && children.length < 300 ? visible(children) : undefined}>
        {visible(children)}
      </code>
      {main ? (
        <button type="button" class="primary" onClick={copy}>
          Copy {label}
        </button>
      ) : (
        <button type="button" class="icon" title={`Copy ${label}`} onClick={copy}>
          <Icon of={copied ? "done" : "copy"} />
        </button>
      )}
    </span>
  );
}

/** Whether it is in the clipboard. `navigator.clipboard` is missing on plain http. */
async function write(text: string): Promise<boolean> {
  if (navigator.clipboard)
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  const focused = document.activeElement as HTMLElement | null;
  const area = Object.assign(document.createElement("textarea"), { value: text });
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return done;
}

const minute = createStore(0);
setInterval(() => minute.set(minute.get() + 1), 30_000);

/** Relative, in the reader's zone; the exact time on hover, or for all times by the switch in the menu. */
export function Time({ at }: { at: string }) {
  useStore(minute);
  const shown = useStore(exactTimes);
  return (
    <time dateTime={at} title={exact(at)}>
      {shown ? exact(at) : relative(at, Date.now())}
    </time>
  );
}

const MARKS: Record<string, string> = {
  active: "good",
  ok: "good",
  pending: "warn",
  suspended: "bad",
  deleted: "bad",
  error: "bad",
  warning: "warn",
  info: "info",
  owner: "info",
};

export function Badge({ children }: { children: string }) {
  return <span class={`badge ${MARKS[children] ?? ""}`}>{children}</span>;
}

export const count = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** A heading that takes the focus when a page opens, so that keyboards and screen readers begin there. */
export function Title({ children, id }: { children: ComponentChildren; id: string }) {
  useEffect(() => {
    document.title = `${document.querySelector("h1")?.textContent ?? ""} · Tenant console`;
  });
  useEffect(() => {
    // A reader who chooses by arrow keys keeps the focus.
    if (document.activeElement?.tagName !== "SELECT")
      document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [id]);
  return <h1 tabIndex={-1}>{children}</h1>;
}
