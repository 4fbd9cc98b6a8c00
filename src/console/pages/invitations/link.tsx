import type { Invited } from "../../arrival.ts";
import { Name } from "../../parts/text.tsx";
import { path } from "../../router.ts";
import { createStore, useStore } from "../../store.ts";

/** What a link says of its invitation. Anybody can change a link, so it never reads as a fact. */
export function Invitation({ of: { to, as, by } }: { of: Invited }) {
  if (!to && !as && !by)
    return <p>You are invited to an organization. The service says to which one once you accept.</p>;
  return (
    <>
      <p class="quote">
        The link says: “
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
        .”
      </p>
      <p class="note warn">
        Nobody has checked these words: anybody can change a link. The service says the organization and the
        role once you accept.
      </p>
    </>
  );
}

/** Why nothing can be accepted. */
export const Unusable = ({ of }: { of: Invited | null }) => (
  <p>
    {of
      ? "The link is incomplete, or is no link of an invitation. Ask for it again."
      : "Open the link of the invitation again."}
  </p>
);

/** The id of the tenant, which is a part of the token. */
export const tenantOf = ({ token }: Invited): string => token.slice("tmi_".length, -44);

/** The link to give to somebody else, with what it says. */
export const linkTo = ({ token, to = "", by = "", as = "" }: Invited) =>
  new URL(location.pathname, location.origin).href + path(["invitation", token], { to, by, as });

/** What the reader joined, if the link had said something else. */
export const differs = createStore<{ slug: string; name: string; role: string; said: Invited } | null>(null);

/** On the first page of the organization that was joined. */
export function Differs({ slug }: { slug: string }) {
  const found = useStore(differs);
  if (found?.slug !== slug) return null;
  const { name, role, said } = found;
  return (
    <div class="note warn head">
      <p>
        The link said{" "}
        {said.to && (
          <>
            “<Name>{said.to}</Name>”
          </>
        )}
        {said.to && said.as && " and "}
        {said.as && (
          <>
            the role “<Name>{said.as}</Name>”
          </>
        )}
        . That is not so: you joined <Name>{name}</Name> as {role}. Leave it if this is not what you wanted.
      </p>
      <button type="button" onClick={() => differs.set(null)}>
        Close
      </button>
    </div>
  );
}
