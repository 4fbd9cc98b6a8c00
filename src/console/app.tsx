import { useEffect, useRef } from "preact/hooks";
import { denied } from "./api.ts";
import { arriving, offered } from "./arrival.ts";
import { Ending, Toast, Waiting } from "./banners.tsx";
import { aRole, type Me, readMe } from "./me.ts";
import { Side } from "./menu.tsx";
import { firstOf, pageOf } from "./pages/index.tsx";
import { SignIn } from "./pages/sign-in.tsx";
import { Palette } from "./palette.tsx";
import { Dialog } from "./parts/form.tsx";
import { type Load, Loaded, Loading, useLoad, useReturn } from "./parts/load.tsx";
import { Name, say } from "./parts/text.tsx";
import { leave, leaving, route, unsaved } from "./router.ts";
import { claimsOf, session, signIn } from "./session.ts";
import { signOut } from "./sign-out.ts";
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

/** Who the reader is. When somebody else changes their role or organization, the console says so. */
function useMe(): Load<Me> {
  const me = useLoad("me", readMe);
  useEffect(() => denied.follow(me.reload), []);
  useReturn(me.reload);
  const before = useRef<Me | undefined>(undefined);
  useEffect(() => {
    for (const { slug, name, role, status } of before.current?.tenants ?? []) {
      const now = me.value?.tenants.find(one => one.slug === slug);
      if (!now) continue;
      if (now.status !== status) say(`${name} is ${now.status} now`);
      else if (now.role !== role) say(`You are ${aRole(now.role)} of ${name} now`);
    }
    before.current = me.value ?? before.current;
  }, [me.value]);
  return me;
}

function SignedIn() {
  const me = useMe();
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
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={toMain}>
        Skip to the page
      </button>
      <Side me={me} parts={parts} slug={slug} />
      <main id="main" tabIndex={-1}>
        {pageOf({ me, parts, slug, reload })}
      </main>
      <Palette me={me} />
      <Leaving />
    </div>
  );
}

/** What is typed and not saved is lost by a click on another page: asked first. */
function Leaving() {
  const asked = useStore(leaving);
  const what = unsaved.get();
  if (asked === null) return null;
  const stay = () => leaving.set(null);
  return (
    <Dialog title="Leave without saving?" onClose={stay}>
      <p>You have not saved {what ?? "what you typed"}.</p>
      <div class="buttons">
        <button type="button" class="primary" onClick={stay}>
          Stay here
        </button>
        <button type="button" onClick={leave}>
          Leave, and lose it
        </button>
      </div>
    </Dialog>
  );
}

function toMain() {
  document.getElementById("main")?.focus();
}
