import { call, Refused } from "../../api.ts";
import { forgetInvitation, type Invited, invited, isWhole } from "../../arrival.ts";
import { type Me, namedBy } from "../../me.ts";
import { useAction } from "../../parts/action.ts";
import { Mistake } from "../../parts/failure.tsx";
import { Form } from "../../parts/form.tsx";
import { Copy, Name, say, Title, visible } from "../../parts/text.tsx";
import { go, path } from "../../router.ts";
import { signOut } from "../../sign-out.ts";
import { useStore } from "../../store.ts";
import type { Here } from "../here.ts";

/** What a link says of its invitation. Nobody has checked it: the service tells more once it is accepted. */
export function Invitation({ of: { to, as, by } }: { of: Invited }) {
  return (
    <p>
      {by ? (
        <>
          <Name>{by}</Name> invites you
        </>
      ) : (
        "You are invited"
      )}{" "}
      to {to ? <Name>{to}</Name> : "an organization"}
      {as && (
        <>
          {" "}
          as <Name>{as}</Name>
        </>
      )}
      .
    </p>
  );
}

/** The link to give to somebody else. */
const linkTo = ({ token }: Invited) =>
  `${new URL(location.pathname, location.origin).href}#/invitation/${token}`;

const NotNow = () => (
  <button
    type="button"
    onClick={() => {
      forgetInvitation();
      go("#/");
    }}
  >
    Not now
  </button>
);

export function Accept({ here }: { here: Here }) {
  const found = useStore(invited);
  const action = useAction();
  if (!found || !isWhole(found))
    return (
      <>
        <Title id="invitation">There is no invitation here</Title>
        <p>
          {found
            ? "The link is not whole, or is none of an invitation: ask for it again."
            : "Open the link of the invitation again."}
        </p>
        {found && <NotNow />}
      </>
    );
  const accept = () =>
    action.run(async () => {
      const { body } = await call("acceptInvitation", { body: { token: found.token } }).catch(explained);
      forgetInvitation();
      say(`You are ${body.membership.role} of ${body.tenant.name} now`);
      here.reload();
      go(path(["org", body.tenant.slug]));
    });
  return (
    <>
      <Title id="invitation">You are invited</Title>
      <section class="panel narrow" aria-label="Invitation">
        <Invitation of={found} />
        <Form action={action} submit="Accept the invitation" onSubmit={accept} beside={<NotNow />}>
          <p>
            You join as{" "}
            <b>
              <Name>{here.me.name}</Name>
            </b>
            . An invitation works once.
          </p>
          <Only me={here.me} />
        </Form>
        <details>
          <summary>It is for somebody else, or for another account of yours</summary>
          <div class="stack">
            <Copy label="link">{linkTo(found)}</Copy>
            <div class="buttons">
              <button type="button" onClick={() => void signOut({ stay: true })}>
                Sign in as somebody else
              </button>
            </div>
          </div>
        </details>
      </section>
    </>
  );
}

/** The service gives one answer to all of these, so that nobody can probe invitations. */
function explained(error: unknown): never {
  if (error instanceof Refused && error.status === 403)
    throw new Mistake(
      "This invitation cannot be used. It was used already, was revoked, has ended, or is for another e-mail address than that of your sign-in. Ask for another one",
    );
  if (error instanceof Refused && error.status === 409)
    throw new Mistake("You belong to this organization already, so the invitation stays open for its person");
  throw error;
}

/** Said before accepting, because the invitation is used up then. */
function Only({ me: { only } }: { me: Me }) {
  if (!only) return null;
  return (
    <p class="note warn">
      Your sign-in names the organization <code>{visible(only.slug)}</code> by {namedBy(only.source)}, and you
      can work in no other with it. If you are invited to another one, you join it, but you get in only with a
      sign-in that names it, or none. An operator can let the chooser decide:{" "}
      <code>SERVICE_TENANT_PRECEDENCE=header</code>.
    </p>
  );
}
