import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "./api.ts";
import { Waiting } from "./banners.tsx";
import { finding, whyOf } from "./finding.ts";
import type { Me } from "./me.ts";
import { deploymentEntries, entriesOf } from "./menu.tsx";
import { Failure } from "./parts/failure.tsx";
import { Dialog } from "./parts/form.tsx";
import { useLoad } from "./parts/load.tsx";
import { Badge, Name, visible } from "./parts/text.tsx";
import { go, path } from "./router.ts";
import { useStore } from "./store.ts";

addEventListener("keydown", event => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey)
    return;
  event.preventDefault();
  finding.set(true);
});

interface Place {
  label: string;
  more: string;
  status?: string;
  to: string;
}

function pagesOf(me: Me): Place[] {
  const own = me.tenants.flatMap(({ slug, name, role }) =>
    entriesOf(slug, role).map(([label, , to]) => ({ label, more: name, to: path(to) })),
  );
  const all = deploymentEntries.map(([label, , to]) => ({ label, more: "Deployment", to: path(to) }));
  return me.operator ? [...all, ...own] : own;
}

const FEW = 8;

/** Ctrl K: a page by its name, and for operators a tenant by a part of its name or slug. */
export function Palette({ me }: { me: Me }) {
  const open = useStore(finding);
  return open ? <Find me={me} /> : null;
}

function Find({ me }: { me: Me }) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text.trim()), 200);
    return () => clearTimeout(timer);
  }, [text]);
  const load = useLoad<Place[]>(`find ${asked}`, async signal => {
    if (!me.operator || asked === "") return [];
    const { body } = await call("listTenants", { query: { search: asked, limit: FEW } }, { signal });
    return body.tenants.map(({ tenant_id, name, slug, status }) => ({
      label: name,
      more: slug,
      status,
      to: path(["tenant", tenant_id]),
    }));
  });
  const wanted = text.trim().toLowerCase();
  const pages = pagesOf(me).filter(({ label, more }) => `${label} ${more}`.toLowerCase().includes(wanted));
  const named = [...(load.value ?? []), ...pages].slice(0, 2 * FEW);
  const why = me.operator && named.length === 0 ? whyOf(text) : undefined;
  const places: Place[] = why ? [{ label: `Why is ${text.trim()} refused?`, more: "", to: why }] : named;
  const list = useRef<HTMLUListElement>(null);
  const close = () => finding.set(false);
  /** Arrow keys go through the links, from the field too. */
  const move = (event: KeyboardEvent) => {
    const links = [...(list.current?.querySelectorAll("a") ?? [])];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = links.indexOf(document.activeElement as HTMLAnchorElement);
    const next = at + step;
    if (next < 0) list.current?.closest("dialog")?.querySelector("input")?.focus();
    else links[Math.min(next, links.length - 1)]?.focus();
  };
  return (
    <Dialog title="Find" onClose={close}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys of the field and of the links in it */}
      <div class="find" onKeyDown={move}>
        <form
          onSubmit={event => {
            event.preventDefault();
            if (!places[0]) return;
            close();
            go(places[0].to);
          }}
        >
          <input
            type="text"
            aria-label={me.operator ? "A page or a tenant" : "A page"}
            placeholder={me.operator ? "A page, or a part of a tenant's name or slug" : "A page"}
            value={text}
            onInput={event => setText((event.target as HTMLInputElement).value)}
          />
        </form>
        <p class="unseen" role="status">
          {places.length} found
        </p>
        <ul ref={list}>
          {places.map(({ label, more, status, to }) => (
            <li key={to}>
              <a href={to} onClick={close}>
                <Name>{label}</Name> <span class="dim">{visible(more)}</span>{" "}
                {status && <Badge>{status}</Badge>}
              </a>
            </li>
          ))}
        </ul>
        {/* The page shows the same one, but behind this dialog. */}
        <Waiting />
        {load.error !== undefined ? (
          <Failure error={load.error} again={load.reload} />
        ) : (
          places.length === 0 &&
          !load.loading &&
          asked === text.trim() && <p class="dim">Nothing has this name.</p>
        )}
      </div>
    </Dialog>
  );
}
