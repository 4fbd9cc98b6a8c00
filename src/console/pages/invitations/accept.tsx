import { call, Refused } from "../../api.ts";
import { forgetInvitation, invited, isWhole } from "../../arrival.ts";
import { aRole, type Me, namedBy } from "../../me.ts";
import { useAction } from "../../parts/action.ts";
import { Failure, Mistake } from "../../parts/failure.tsx";
import { Form } from "../../parts/form.tsx";
import { Copy, Name, say, Title, visible } from "../../parts/text.tsx";
import { go, path } from "../../router.ts";
import { signOut } from "../../sign-out.ts";
import { useStore } from "../../store.ts";
import type { Here } from "../here.ts";
import { differs, Invitation, linkTo, tenantOf, Unusable } from "./link.tsx";

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
        <Unusable of={found} />
        {found && <NotNow />}
      </>
    );
  const accept = () =>
    action.run(async () => {
      const { body } = await call("acceptInvitation", { body: { token: found.token } }).catch(explained);
      const { name, slug } = body.tenant;
      const { role } = body.membership;
      forgetInvitation();
      const same = (found.to ?? name) === name && (found.as ?? role) === role;
      differs.set(same ? null : { slug, name, role, said: found });
      say(`You are ${aRole(role)} of ${name} now`);
      here.reload();
      go(path(["org", slug]));
    });
  const refused = action.error instanceof Mistake;
  const mine = here.me.tenants.find(({ tenant_id }) => tenant_id === tenantOf(found));
  return (
    <>
      <Title id="invitation">You are invited</Title>
      <section class="panel narrow" aria-label="Invitation">
        <Invitation of={found} />
        {mine && (
          <p class="note">
            You belong to <Name>{mine.name}</Name> already:{" "}
            <a href={path(["org", mine.slug])} onClick={forgetInvitation}>
              open it
            </a>
            .
          </p>
        )}
        {refused ? (
          <>
            <Failure error={action.error} />
            <div class="buttons">
              <button type="button" disabled={action.busy} onClick={accept}>
                Try again
              </button>
              <NotNow />
            </div>
          </>
        ) : (
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
        )}
        <details open={refused}>
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
      "This invitation cannot be used. It was used already, was revoked, has ended, or is for another e-mail address than that of your sign-in. Sign in with the account that was invited, or ask for another invitation",
    );
  if (error instanceof Refused && error.status === 409)
    throw new Mistake(
      "You already belong to this organization. The invitation is still open for somebody else",
    );
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
