import type { CreatedInvitation, CreateInvitation, Invitation, MemberRole } from "../../../client/api.ts";
import { type Answer, call } from "../../api.ts";

/** The invitations of one tenant. */
export interface InvitationsOf {
  key: string;
  list: (cursor: string | undefined, signal: AbortSignal) => Promise<Answer<{ invitations: Invitation[] }>>;
  create: (body: CreateInvitation) => Promise<Answer<CreatedInvitation>>;
  revoke: (invitation_id: string) => Promise<unknown>;
  roles: readonly MemberRole[];
  /** What the link says to the person: the tenant's name, and who invites. */
  says: { to: string; by: string };
}

export const invitationsOfMine = (
  tenant: string,
  role: MemberRole,
  says: InvitationsOf["says"],
): InvitationsOf => ({
  key: tenant,
  says,
  roles: role === "owner" ? ["member", "admin", "owner"] : ["member", "admin"],
  list: (cursor, signal) =>
    call("listInvitations", { query: { limit: 100, ...(cursor && { cursor }) } }, { tenant, signal }),
  create: body => call("createInvitation", { body }, { tenant }),
  revoke: invitation_id => call("revokeInvitation", { params: { invitation_id } }, { tenant }),
});
