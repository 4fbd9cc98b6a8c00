/** The table of identity providers in docs/reference/configuration.md, tried with claims as each of them writes them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { loadConfig } from "../../src/config/config.ts";
import { toIdentity } from "../../src/identity/auth.ts";
import { resolveTenant } from "../../src/identity/tenant.ts";
import { HOUR, now, SECRET } from "./tokens.ts";

const page = readFileSync(new URL("../../docs/reference/configuration.md", import.meta.url), "utf8");
const [, table] = page.split("## Identity providers");
const rows = [...table!.matchAll(/^\| ([A-Z][\w ]+) \| `([^`]+)`[^|]*\| `([^`]+)`/gm)].map(
  ([, provider, operator, tenant]) => ({ provider: provider!, operator: operator!, tenant: tenant! }),
);

interface Shape {
  role?: string;
  slug: string;
  claims: Record<string, unknown>;
}
const SHAPES: Record<string, Shape> = {
  Auth0: {
    role: "operate:tenants",
    slug: "org-9ybsu1dn2dkfdkbi",
    claims: {
      iss: "https://acme.eu.auth0.com/",
      sub: "auth0|507f1f77bcf86cd799439020",
      aud: ["https://api.example", "https://acme.eu.auth0.com/userinfo"],
      scope: "openid profile email",
      permissions: ["operate:tenants"],
      org_id: "org_9ybsU1dN2dKfDkBi",
      org_name: "acme",
    },
  },
  Clerk: {
    role: "org_2aBcDeF",
    slug: "acme",
    claims: {
      iss: "https://clerk.acme.com",
      sub: "user_2aBc",
      azp: "https://app.acme.com",
      v: 2,
      o: { id: "org_2aBcDeF", slg: "acme", rol: "admin" },
    },
  },
  Cognito: {
    slug: "acme",
    claims: {
      iss: "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_aBc",
      sub: "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10",
      aud: "3n4b5urk1ft4fl3mg5e62d9ado",
      token_use: "id",
      "cognito:groups": ["tenant-operator"],
      "custom:tenant": "acme",
      email: "ada@globex.com",
      email_verified: "true",
    },
  },
  "Entra ID": {
    role: "0d6a2f6f-8f10-4b1f-8a37-5c6f1a529d3e",
    slug: "9188040d-6c67-4c5b-b112-36a304b66dad",
    claims: {
      iss: "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0",
      sub: "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
      aud: "6cb04018-a3f5-46a7-b995-940c78f5aef3",
      tid: "9188040d-6c67-4c5b-b112-36a304b66dad",
      groups: ["0d6a2f6f-8f10-4b1f-8a37-5c6f1a529d3e"],
      scp: "access_as_user",
    },
  },
  Firebase: {
    slug: "acme-x1y2z",
    claims: {
      iss: "https://securetoken.google.com/project",
      sub: "uid",
      aud: "project",
      roles: ["tenant-operator"],
      email: "ada@globex.com",
      email_verified: false,
      firebase: {
        identities: { email: ["ada@globex.com"] },
        sign_in_provider: "password",
        tenant: "acme-x1y2z",
      },
    },
  },
  Google: {
    role: "ada@acme.com",
    slug: "acme-com",
    claims: {
      iss: "https://accounts.google.com",
      sub: "110169484474386276334",
      aud: "1234.apps.googleusercontent.com",
      hd: "acme.com",
      email: "ada@acme.com",
      email_verified: true,
    },
  },
  Keycloak: {
    slug: "acme",
    claims: {
      iss: "https://login.example/realms/main",
      sub: "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10",
      aud: "account",
      typ: "Bearer",
      realm_access: { roles: ["offline_access", "tenant-operator"] },
      resource_access: { account: { roles: ["view-profile"] } },
      organization: ["acme"],
      email: "ada@globex.com",
    },
  },
  Okta: {
    slug: "acme",
    claims: {
      iss: "https://acme.okta.com/oauth2/default",
      sub: "ada@acme.com",
      aud: "api://default",
      scp: ["openid", "email"],
      groups: ["Everyone", "tenant-operator"],
      tenant: "acme",
    },
  },
  Supabase: {
    slug: "acme",
    claims: {
      iss: "https://ref.supabase.co/auth/v1",
      sub: "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10",
      aud: "authenticated",
      role: "authenticated",
      email: "",
      app_metadata: { provider: "phone", roles: ["tenant-operator"], tenant: "acme" },
      user_metadata: { tenant: "globex" },
    },
  },
  WorkOS: {
    role: "org_01HXYZ",
    slug: "org-01hxyz",
    claims: { iss: "https://api.workos.com", sub: "user_01HXYZ", org_id: "org_01HXYZ", roles: ["admin"] },
  },
};

test("with the claims that the page names, a token of each provider is an operator's, and names its tenant", () => {
  assert.deepEqual(
    rows.map(({ provider }) => provider),
    Object.keys(SHAPES),
  );
  for (const { provider, operator, tenant } of rows) {
    const { claims, role = "tenant-operator", slug } = SHAPES[provider]!;
    const { config } = loadConfig({
      SERVICE_JWT_SECRET: SECRET,
      SERVICE_JWT_ISSUER: claims.iss as string,
      ...("aud" in claims ? { SERVICE_JWT_AUDIENCE: [claims.aud].flat()[0] as string } : {}),
      SERVICE_OPERATOR_CLAIM: operator,
      SERVICE_OPERATOR_ROLE: role,
      SERVICE_JWT_TENANT_CLAIM: tenant,
    });
    const identity = toIdentity({ ...claims, exp: now() + HOUR }, config);
    assert.equal(identity.operator, true, provider);
    assert.equal(resolveTenant(identity.claims, undefined, config).slug, slug, provider);
    assert.equal(toIdentity({ ...identity.claims, [operator]: [] }, config).operator, false, provider);
  }
});
