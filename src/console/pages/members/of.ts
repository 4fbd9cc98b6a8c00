import type { Member, MemberRole, TenantDetails } from "../../../client/api.ts";
import { type Answer, call, Refused } from "../../api.ts";
import { Mistake } from "../../parts/failure.tsx";
import { path } from "../../router.ts";

/** The members of one tenant: by an operator, or by the tenant's own people. */
export interface MembersOf {
  key: string;
  /** `q`: a part of a name, an e-mail address or a subject. */
  list: (
    cursor: string | undefined,
    signal: AbortSignal,
    q?: string,
  ) => Promise<Answer<{ members: Member[] }>>;
  add: (body: AddBody) => Promise<Answer<Member>>;
  setRole: (user_id: string, role: MemberRole) => Promise<Answer<Member>>;
  remove: (user_id: string) => Promise<unknown>;
  /** Roles that the reader may give and take; none for members. */
  roles: readonly MemberRole[];
  /** Where it is explained why somebody is refused; for operators. */
  why?: (member: Member) => string;
  /** Where people are invited. */
  invitations: string;
  /** Reads again what the page says of the tenant: its members, or it itself, have changed. */
  reload?: () => void;
  /** The reader's own row. */
  self?: string;
  /** What happens once the reader's own membership has changed; null: it has ended. */
  changed?: (member: Member | null) => void;
}

export interface AddBody {
  auth_subject: string;
  auth_provider?: string;
  email?: string;
  display_name?: string;
  role: MemberRole;
}

export function membersByOperator(
  { tenant_id, slug, status }: Pick<TenantDetails, "tenant_id" | "slug" | "status">,
  reload?: () => void,
): MembersOf {
  return {
    key: tenant_id,
    ...(reload && { reload }),
    // A deleted tenant takes nobody in.
    roles: status === "deleted" ? [] : ["member", "admin", "owner"],
    invitations: path(["tenant", tenant_id, "invitations"]),
    why: ({ auth_subject: subject, auth_provider: provider }) =>
      path(["why"], { tenant: slug, subject, provider: provider === "jwt" ? "" : provider }),
    list: (cursor, signal, q) =>
      call(
        "listTenantMembers",
        { params: { tenant_id }, query: { ...page(cursor), ...(q && { q }) } },
        { signal },
      ),
    add: body => call("addTenantMember", { params: { tenant_id }, body }),
    setRole: (user_id, role) =>
      call("changeTenantMember", { params: { tenant_id, user_id }, body: { role } }),
    remove: user_id => call("removeTenantMember", { params: { tenant_id, user_id } }),
  };
}

export function membersOfMine(
  tenant: string,
  { user_id: self, role }: Member,
  changed: NonNullable<MembersOf["changed"]>,
): MembersOf {
  const roles = { owner: ["member", "admin", "owner"], admin: ["member", "admin"], member: [] } as const;
  return {
    key: tenant,
    roles: roles[role],
    self,
    invitations: path(["org", tenant, "invitations"]),
    changed,
    list: (cursor, signal, q) =>
      call("listMembers", { query: { ...page(cursor), ...(q && { q }) } }, { tenant, signal }),
    add: body => call("addMember", { body }, { tenant }),
    setRole: (user_id, role) => call("changeMember", { params: { user_id }, body: { role } }, { tenant }),
    remove: user_id => call("removeMember", { params: { user_id } }, { tenant }),
  };
}

/** What a dialog about members takes. */
export interface Asking {
  of: MembersOf;
  close: () => void;
  /** Reads the list again: somebody else has changed it. */
  again: () => void;
}

/** @throws with the cure, where the service refuses that nobody would be owner */
export function lastOwner(error: unknown): never {
  if (error instanceof Refused && error.status === 409 && error.message.startsWith("The last owner"))
    throw new Mistake(
      "An organization always has an owner, and there is no other one. Make somebody else an owner first",
    );
  throw error;
}

export const page = (cursor: string | undefined) => ({ limit: 100, ...(cursor && { cursor }) });

export const nameOf = ({ display_name, email, auth_subject }: Member) =>
  display_name ?? email ?? auth_subject;
