import type { CurrentTenant, Tenant } from "../../examples/typescript/api.ts";

export interface SettingsSchema {
  schema: Record<string, unknown> | null;
  writable: string[];
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
}

export const soon = {
  patchTenant: ["PATCH", "/api/setup/tenant/{tenant_id}"],
  patchCurrentTenant: ["PATCH", "/api/tenants/current"],
  getSettingsSchema: ["GET", "/api/tenants/settings-schema"],
} as const;
