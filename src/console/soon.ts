import type { CurrentTenant, Tenant } from "../../examples/typescript/api.ts";

export interface SettingsSchema {
  schema: Record<string, unknown> | null;
  writable: string[];
}
export interface Key {
  key_id: string;
  name: string;
  role: "admin" | "member";
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
  listKeys: { takes: { query?: object }; answers: Record<200, { keys: Key[] }> };
  createKey: { takes: { body: object }; answers: Record<201, Key & { key: string }> };
  revokeKey: { takes: { params: { key_id: string } }; answers: Record<200, object> };
}

export const soon = {
  patchTenant: ["PATCH", "/api/setup/tenant/{tenant_id}"],
  patchCurrentTenant: ["PATCH", "/api/tenants/current"],
  getSettingsSchema: ["GET", "/api/tenants/settings-schema"],
  listKeys: ["GET", "/api/tenants/keys"],
  createKey: ["POST", "/api/tenants/keys"],
  revokeKey: ["DELETE", "/api/tenants/keys/{key_id}"],
} as const;
