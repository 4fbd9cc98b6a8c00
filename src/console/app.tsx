import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { waiting } from "./api.ts";
import { arriving, offered } from "./arrival.ts";
import { type Me, readMe } from "./me.ts";
import { firstOf, pageOf } from "./pages/index.tsx";
import { SignIn } from "./pages/sign-in.tsx";
import { Dialog } from "./parts/form.tsx";
import { Loaded, Loading, useLoad } from "./parts/load.tsx";
import { Name, said, Time } from "./parts/text.tsx";

import { go, path, route } from "./router.ts";
import { claimsOf, ending, session, signIn, signOut } from "./session.ts";
import { useStore } from "./store.ts";

export function App() {
  const current = useStore(session);
  const pending = useStore(arriving);
  return (
    <>
      <Waiting />
      {current && <Ending />}
      {current ? <SignedIn key={current.id} /> : pending ? <Loading /> : <SignIn />}
      <Toast />
    </>
  );
}

function Waiting() {
  const why = useStore(waiting);
  return <div role="status">{why && <p class="banner">{why}</p>}</div>;
}

function Toast() {
  const text = useStore(said);
  useEffect(() => {
    if (text === "") return;
    const timer = setTimeout(() => said.set(""), 6_000);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div role="status" class="toast">
      {text}
    </div>
  );
}

/** The token cannot be renewed, and what is typed goes with the page. */
function Ending() {
  const at = useStore(ending);
  if (at === null) return null;
  return (
    <p class="banner" role="status">
      Your sign-in ends <Time at={new Date(at).toISOString()} />. Save what you have typed.
    </p>
  );
}

/** A link with a token came into a session: it replaces none unasked. */
function Offer({ token, name }: { token: string; name: string }) {
  const { name: full, email, sub } = claimsOf(token) as Record<string, string | undefined>;
  const close = () => offered.set(null);
  return (
    <Dialog title="Sign in as somebody else?" onClose={close}>
      <p>
        A link brings a token of <Name>{full ?? email ?? sub ?? "an API key"}</Name>. You are signed in as{" "}
        <Name>{name}</Name>.
      </p>
      <div class="buttons">
        <button type="button" class="primary" onClick={close}>
          Stay signed in
        </button>
        <button
          type="button"
          onClick={() => {
            close();
            void signOut().then(() => signIn({ access: token }));
          }}
        >
          Sign in with the link
        </button>
      </div>
    </Dialog>
  );
}

function SignedIn() {
  const me = useLoad("me", readMe);
  const offer = useStore(offered);
  if (me.value)
    return (
      <>
        <Frame me={me.value} reload={me.reload} />
        {offer && <Offer token={offer} name={me.value.name} />}
      </>
    );
  return (
    <div class="gate">
      <Loaded of={me}>{() => null}</Loaded>
      {!me.loading && (
        <button type="button" onClick={() => void signOut()}>
          Sign out
        </button>
      )}
    </div>
  );
}

/** The slug of the organization that the reader looks at. */
const chosen = (me: Me, parts: string[]): string | undefined => {
  const slug = parts[0] === "org" ? parts[1] : me.tenants.find(one => one.slug === me.only?.slug)?.slug;
  return slug ?? me.tenants.find(({ status }) => status === "active")?.slug ?? me.tenants[0]?.slug;
};

function Frame({ me, reload }: { me: Me; reload: () => void }) {
  const asked = useStore(route).parts;
  const slug = chosen(me, asked);
  const parts = asked.length > 0 ? asked : firstOf(me, slug);
  const mine = me.tenants.find(tenant => tenant.slug === slug);
  const page = pageOf({ me, parts, slug, reload });
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={toMain}>
        Skip to the page
      </button>
      <header class="side">
        <a class="brand" href="#/">
          <img src={icon} alt="" /> Tenants
        </a>
        {me.operator && (
          <Section title="Deployment" parts={parts}>
            {[
              ["Waiting", ["waiting"]],
              ["Tenants", ["tenants"]],
              ["Activity", ["activity"]],
              ["Isolation", ["isolation"]],
              ["Why?", ["why"]],
              ["Setup", ["setup"]],
            ]}
          </Section>
        )}
        {me.tenants.length > 1 && (
          <label class="picker field">
            <span class="unseen">Organization</span>
            <select
              value={slug}
              onChange={event => go(path(["org", (event.target as HTMLSelectElement).value]))}
            >
              {me.tenants.map(one => (
                <option key={one.slug} value={one.slug}>
                  {one.name}
                </option>
              ))}
            </select>
          </label>
        )}
        {slug && mine && (
          <Section title={me.tenants.length > 1 ? "Organization" : mine.name} parts={parts}>
            {[
              ["Overview", ["org", slug]],
              ["Members", ["org", slug, "members"]],
              ...(mine.role === "member"
                ? []
                : ([
                    ["Invitations", ["org", slug, "invitations"]],
                    ["Keys", ["org", slug, "keys"]],
                    ["Settings", ["org", slug, "settings"]],
                    ["Activity", ["org", slug, "activity"]],
                  ] as [string, string[]][])),
            ]}
          </Section>
        )}
        <div class="who">
          <b title={me.name}>
            <Name>{me.name}</Name>
          </b>
          <span class="dim">
            {[me.operator && "operator", mine && `${mine.role} of ${mine.slug}`].filter(Boolean).join(", ") ||
              "no organization yet"}
          </span>
          <button type="button" onClick={() => void signOut()}>
            Sign out
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {page}
      </main>
    </div>
  );
}

const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]')!.href;

function toMain() {
  document.getElementById("main")?.focus();
}

function Section({
  title,
  parts,
  children,
}: {
  title: string;
  parts: string[];
  children: [label: string, to: string[]][];
}): ComponentChildren {
  const here = (to: string[]) =>
    to.join("/") === parts.slice(0, Math.max(to.length, to[0] === "org" ? 3 : 1)).join("/") ||
    (to[0] === "tenants" && parts[0] === "tenant");
  return (
    <nav aria-label={title}>
      <h2>
        <bdi>{title}</bdi>
      </h2>
      {children.map(([label, to]) => (
        <a key={label} href={path(to)} aria-current={here(to) ? "page" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  );
}
