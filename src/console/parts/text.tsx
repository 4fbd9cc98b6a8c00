import { useEffect, useState } from "preact/hooks";
import { createStore, useStore } from "../store.ts";

/** What people called something: isolated, so that a right-to-left name turns nothing else around. */
export function Name({ children }: { children: string | null | undefined }) {
  const shown = visible(children ?? "");
  return <bdi class="name">{shown === "" ? "(no name)" : shown}</bdi>;
}

/** Characters without a shape, or that turn what follows around: shown as their code point. Emoji are joined by two of them. */
const HIDDEN =
  /(?!(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)[\uFE0F\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;
export const visible = (text: string): string =>
  text.replace(HIDDEN, one => `⟨${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** Said aloud by screen readers, and shown for a moment. */
export const said = createStore("");
export const say = (text: string): void => said.set(visible(text));

/** A slug or an id, with a button that copies it. */
export function Copy({ children, label }: { children: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await write(children);
    setCopied(true);
    say(`${label} copied`);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <span class="copy">
      <code>{children}</code>
      <button type="button" class="icon" title={`Copy ${label}`} aria-label={`Copy ${label}`} onClick={copy}>
        <Icon of={copied ? "M3 8.5l3.2 3.2L13 5" : "M6 6h7v7H6zM10 6V3H3v7h3"} />
      </button>
    </span>
  );
}

/** Drawn in a square of 16: fonts lack many symbols. */
export const Icon = ({ of }: { of: string }) => (
  <svg viewBox="0 0 16 16" aria-hidden="true">
    <path d={of} />
  </svg>
);

/** `navigator.clipboard` is missing on plain http. */
async function write(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).catch(() => {});
  const area = Object.assign(document.createElement("textarea"), { value: text });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

const minute = createStore(0);
setInterval(() => minute.set(minute.get() + 1), 30_000);

const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

export function relative(at: string): string {
  const seconds = (Date.parse(at) - Date.now()) / 1000;
  const found = UNITS.find(([, size]) => Math.abs(seconds) >= size);
  return found ? RELATIVE.format(Math.trunc(seconds / found[1]), found[0]) : "just now";
}

/** Relative, in the reader's zone; the exact time on hover. */
export function Time({ at }: { at: string }) {
  useStore(minute);
  return (
    <time dateTime={at} title={EXACT.format(new Date(at))}>
      {relative(at)}
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
export function Title({ children, id }: { children: preact.ComponentChildren; id: string }) {
  useEffect(() => {
    document.title = `${document.querySelector("h1")?.textContent ?? ""} · Tenants`;
  });
  useEffect(() => {
    document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [id]);
  return <h1 tabIndex={-1}>{children}</h1>;
}
