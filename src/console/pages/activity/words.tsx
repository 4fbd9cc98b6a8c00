import type { ComponentChildren } from "preact";
import type { Event } from "../../../client/api.ts";
import { Name, Said, visible } from "../../parts/text.tsx";
import { path } from "../../router.ts";

/** Of members, by their ids: events have no personal data. */
export type Names = ReadonlyMap<string, string>;

interface Parts {
  tenant: ComponentChildren;
  /** The tenant again, where a page is about several. */
  of: ComponentChildren;
  /** The person, invitation or key that it is about. */
  on: ComponentChildren;
  changed: readonly string[];
  /** The role that it gives, and the one that it takes. */
  role: string | null;
  before: string | null;
}

const as = (role: string | null) => role && ` as ${role}`;

/** After the actor's name: what they did. And what filters call it. */
const WORDS: Record<string, [kind: string, says: (parts: Parts) => ComponentChildren]> = {
  "tenant.created": ["tenant created", ({ tenant }) => <>created {tenant}</>],
  "tenant.registered": ["tenant registered", ({ tenant }) => <>registered {tenant}</>],
  "tenant.imported": ["tenant imported", ({ tenant }) => <>imported {tenant}</>],
  "tenant.replaced": [
    "data replaced by an import",
    ({ tenant }) => <>replaced the data of {tenant} by an import</>,
  ],
  "tenant.approved": ["registration approved", ({ of }) => <>approved the registration{of}</>],
  "tenant.rejected": ["registration rejected", ({ of }) => <>rejected the registration{of}</>],
  "tenant.suspended": ["tenant suspended", ({ tenant }) => <>suspended {tenant}</>],
  "tenant.resumed": ["tenant resumed", ({ tenant }) => <>resumed {tenant}</>],
  "tenant.updated": [
    "tenant changed",
    ({ tenant, changed }) => (
      <>
        changed {changed.length > 0 ? `the ${changed.join(" and the ")} of ` : ""}
        {tenant}
      </>
    ),
  ],
  "tenant.deletion_scheduled": ["tenant deleted, may be restored", ({ tenant }) => <>deleted {tenant}</>],
  "tenant.restored": ["tenant restored", ({ tenant }) => <>restored {tenant}</>],
  "tenant.deleted": ["tenant deleted for good", ({ tenant }) => <>deleted {tenant} for good</>],
  "member.added": [
    "member added",
    ({ tenant, on, role }) => (
      <>
        added {on} to {tenant}
        {as(role)}
      </>
    ),
  ],
  "member.joined": [
    "member joined",
    ({ tenant, role }) => (
      <>
        joined {tenant}
        {as(role)}
      </>
    ),
  ],
  "member.role_changed": [
    "role changed",
    ({ tenant, on, role, before }) => (
      <>
        changed the role of {on} in {tenant}
        {before && role && ` from ${before} to ${role}`}
      </>
    ),
  ],
  "member.removed": [
    "member removed",
    ({ tenant, on, before }) => (
      <>
        removed {on}
        {before && ` (${before})`} from {tenant}
      </>
    ),
  ],
  "member.left": ["member left", ({ tenant }) => <>left {tenant}</>],
  "invitation.created": [
    "invitation made",
    ({ tenant, role }) => (
      <>
        invited somebody to {tenant}
        {as(role)}
      </>
    ),
  ],
  "invitation.accepted": ["invitation accepted", ({ tenant }) => <>accepted an invitation to {tenant}</>],
  "invitation.revoked": ["invitation revoked", ({ tenant }) => <>revoked an invitation to {tenant}</>],
  "key.created": [
    "key made",
    ({ tenant, role }) => (
      <>
        made an API key of {tenant}
        {as(role)}
      </>
    ),
  ],
  "key.revoked": ["key revoked", ({ tenant }) => <>revoked an API key of {tenant}</>],
};

export const TYPES: readonly (readonly [string, string])[] = [
  ["", "Everything"],
  ...Object.entries(WORDS).map(([type, [kind]]) => [type, kind] as const),
];

/** What ends somebody's access. */
export const isEnd = (type: string): boolean =>
  /rejected|suspended|deleted|deletion|removed|revoked/.test(type);

function By({ actor }: { actor: Event["actor"] }) {
  if (!actor) return <span class="dim">Somebody in the database</span>;
  return (
    <b title={visible(actor.auth_provider)}>
      <Name>{actor.auth_subject}</Name>
      {actor.auth_provider === "key" && " (an API key)"}
    </b>
  );
}

/** Who did what, to whom, why. */
export function Sentence({ event, tenants, names }: { event: Event; tenants: boolean; names?: Names }) {
  const { type, actor, changed, role, role_before, reason, tenant_id, tenant_name, tenant_slug, target_id } =
    event;
  const [, says] = WORDS[type] ?? [
    type,
    ({ tenant }: Parts) => (
      <>
        did “{visible(type)}” to {tenant}
      </>
    ),
  ];
  const tenant = tenants ? (
    <a class="row" href={path(["tenant", tenant_id])} title={tenant_slug}>
      <Name>{tenant_name}</Name>
    </a>
  ) : (
    "the organization"
  );
  const of = tenants ? <> of {tenant}</> : "";
  const found = target_id === null ? undefined : names?.get(target_id);
  const on = found ? (
    <b>
      <Name>{found}</Name>
    </b>
  ) : names ? (
    "a former member"
  ) : (
    "a member"
  );
  return (
    <p>
      <By actor={actor} /> {says({ tenant, of, on, changed: changed ?? [], role, before: role_before })}
      {reason && (
        <>
          : “<Said>{reason}</Said>”
        </>
      )}
    </p>
  );
}
