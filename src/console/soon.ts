import type { CurrentTenant, Member, MemberRole, Tenant } from "../../examples/typescript/api.ts";

export interface EventItem {
  cursor: string;
  type: string;
  at: string;
  tenant_id: string;
  tenant_slug: string;
  tenant_name: string;
  actor: { auth_provider: string; auth_subject: string } | null;
  target_id: string | null;
  changed: string[] | null;
  reason: string | null;
  request_id: string | null;
}
export interface EventPage {
  events: EventItem[];
  cursor: string;
}
interface Run {
  run_id: number;
  started_at: string;
  finished_at: string | null;
  result: "clean" | "errors" | "incomplete" | "unfinished";
  errors: number;
  warnings: number;
}
export interface Finding {
  check: string;
  category: string;
  severity: "error" | "warning" | "info";
  tenant_id: string | null;
  relation: string | null;
  row: Record<string, unknown>;
  detail: string;
  remedy: string;
  run_id: number;
}
export interface Audit {
  run:
    | (Run & {
        tenant: string | null;
        family: string | null;
        checks: number;
        rows_checked: number;
        infos: number;
        not_run: number;
      })
    | null;
  findings: Finding[];
  trend: Run[];
}
export interface SettingsSchema {
  schema: Record<string, unknown> | null;
  writable: string[];
}
export interface Invitation {
  invitation_id: string;
  role: MemberRole;
  email: string | null;
  invited_by: string | null;
  created_at: string;
  expires_at: string;
}
export interface Key {
  key_id: string;
  name: string;
  role: MemberRole;
  created_by: string | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
}
export interface OneTenant extends Tenant {
  registration?: Record<string, unknown> | null;
  members_count?: number;
}
type Id = { params: { tenant_id: string } };

export interface Soon {
  getTenant: { takes: Id; answers: Record<200, OneTenant> };
  patchTenant: {
    takes: Id & { headers?: Record<string, string>; body: object };
    answers: Record<200, OneTenant>;
  };
  patchCurrentTenant: {
    takes: { headers?: Record<string, string>; body: object };
    answers: Record<200, CurrentTenant>;
  };
  getSettingsSchema: { takes: object; answers: Record<200, SettingsSchema> };
  listEvents: { takes: { query?: object }; answers: Record<200, EventPage> };
  listTenantEvents: { takes: { query?: object }; answers: Record<200, EventPage> };
  getAudit: { takes: { query?: object }; answers: Record<200, Audit> };
  listTenantMembers: { takes: Id & { query?: object }; answers: Record<200, { members: Member[] }> };
  addTenantMember: { takes: Id & { body: object }; answers: Record<201, Member> };
  changeTenantMember: {
    takes: { params: { tenant_id: string; user_id: string }; body: object };
    answers: Record<200, Member>;
  };
  removeTenantMember: {
    takes: { params: { tenant_id: string; user_id: string } };
    answers: Record<200, object>;
  };
  changeMember: { takes: { params: { user_id: string }; body: object }; answers: Record<200, Member> };
  listInvitations: { takes: { query?: object }; answers: Record<200, { invitations: Invitation[] }> };
  createInvitation: {
    takes: { body: object };
    answers: Record<201, Invitation & { token: string; accept_url?: string }>;
  };
  revokeInvitation: { takes: { params: { invitation_id: string } }; answers: Record<200, object> };
  acceptInvitation: { takes: { body: { token: string } }; answers: Record<200, CurrentTenant> };
  listKeys: { takes: { query?: object }; answers: Record<200, { keys: Key[] }> };
  createKey: { takes: { body: object }; answers: Record<201, Key & { key: string }> };
  revokeKey: { takes: { params: { key_id: string } }; answers: Record<200, object> };
}

export const soon = {
  patchTenant: ["PATCH", "/api/setup/tenant/{tenant_id}"],
  patchCurrentTenant: ["PATCH", "/api/tenants/current"],
  getSettingsSchema: ["GET", "/api/tenants/settings-schema"],
  listEvents: ["GET", "/api/setup/events"],
  listTenantEvents: ["GET", "/api/tenants/events"],
  getAudit: ["GET", "/api/setup/audit"],
  listTenantMembers: ["GET", "/api/setup/tenant/{tenant_id}/members"],
  addTenantMember: ["POST", "/api/setup/tenant/{tenant_id}/members"],
  changeTenantMember: ["PATCH", "/api/setup/tenant/{tenant_id}/members/{user_id}"],
  removeTenantMember: ["DELETE", "/api/setup/tenant/{tenant_id}/members/{user_id}"],
  changeMember: ["PATCH", "/api/tenants/members/{user_id}"],
  listInvitations: ["GET", "/api/tenants/invitations"],
  createInvitation: ["POST", "/api/tenants/invitations"],
  revokeInvitation: ["DELETE", "/api/tenants/invitations/{invitation_id}"],
  acceptInvitation: ["POST", "/api/tenants/invitations/accept"],
  listKeys: ["GET", "/api/tenants/keys"],
  createKey: ["POST", "/api/tenants/keys"],
  revokeKey: ["DELETE", "/api/tenants/keys/{key_id}"],
} as const;
