import type {
  CreatedInvitation,
  CreateInvitation,
  Invitation,
  MemberRole,
  TenantDetails,
} from "../../../client/api.ts";
import { type Answer, call } from "../../api.ts";
import { page } from "../members/of.ts";

/** The invitations of one tenant: by an operator, or by the tenant's own people. */
export interface InvitationsOf {
  key: string;
  list: (cursor: string | undefined, signal: AbortSignal) => Promise<Answer<{ invitations: Invitation[] }>>;
  create: (body: CreateInvitation) => Promise<Answer<CreatedInvitation>>;
  revoke: (invitation_id: string) => Promise<unknown>;
  roles: readonly MemberRole[];
  /** Reads again what the page says of the tenant: it has changed meanwhile. */
  reload?: () => void;
  /** What the link says to the person: the tenant's name, and who invites. */
  says: { to: string; by: string };
  /** Why no link works yet, or can be made. */
  closed?: string | undefined;
}

function closedBy(status: TenantDetails["status"]): string | undefined {
  if (status === "active") return undefined;
  if (status === "deleted") return "The tenant is deleted: nobody can be invited until it is restored.";
  return `The tenant is ${status}: links that you make work once it is active.`;
}

export const invitationsByOperator = (
  { tenant_id, name, status }: TenantDetails,
  reload: () => void,
): InvitationsOf => ({
  key: tenant_id,
  reload,
  // The organization's people do not learn which operator acted.
  says: { to: name, by: "The operator of this service" },
  closed: closedBy(status),
  roles: status === "deleted" ? [] : ["member", "admin", "owner"],
  list: (cursor, signal) =>
    call("listTenantInvitations", { params: { tenant_id }, query: page(cursor) }, { signal }),
  create: body => call("createTenantInvitation", { params: { tenant_id }, body }),
  revoke: invitation_id => call("revokeTenantInvitation", { params: { tenant_id, invitation_id } }),
});

export const invitationsOfMine = (
  tenant: string,
  role: MemberRole,
  says: InvitationsOf["says"],
): InvitationsOf => ({
  key: tenant,
  says,
  roles: role === "owner" ? ["member", "admin", "owner"] : ["member", "admin"],
  list: (cursor, signal) => call("listInvitations", { query: page(cursor) }, { tenant, signal }),
  create: body => call("createInvitation", { body }, { tenant }),
  revoke: invitation_id => call("revokeInvitation", { params: { invitation_id } }, { tenant }),
});
