import { useEffect, useState } from "preact/hooks";
import type { Explanation } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { Form, TextField } from "../../parts/form.tsx";
import { Mistake, useAction } from "../../parts/load.tsx";
import { Title } from "../../parts/text.tsx";
import { route } from "../../router.ts";
import { claimsOf } from "../../session.ts";
import { useStore } from "../../store.ts";
import { Answer } from "./answer.tsx";

type Fields = Record<string, string>;

export function Why() {
  const { query } = useStore(route);
  const [by, setBy] = useState<"identity" | "claims">("identity");
  const action = useAction();
  const [found, setFound] = useState<Explanation | null>(null);
  const explain = (fields: Fields) =>
    action.run(async () => {
      setFound(null);
      setFound(by === "identity" ? await byIdentity(fields) : await byClaims(fields));
    });
  const asked = {
    tenant: query.get("tenant") ?? "",
    person: query.get("subject") ?? "",
    provider: query.get("provider") ?? "",
  };
  useEffect(() => {
    // From a member's row: the question is complete.
    if (asked.person) void explain(asked);
  }, [asked.tenant, asked.person, asked.provider]);
  return (
    <>
      <div class="head">
        <div>
          <Title id="why">Why?</Title>
          <p class="lead">
            Why somebody is refused, or sees no rows. Nothing is changed, and nothing is done as them.
          </p>
        </div>
      </div>
      <div class="panel narrow">
        <div class="buttons">
          {(["identity", "claims"] as const).map(one => (
            <button
              key={one}
              type="button"
              aria-pressed={by === one}
              onClick={() => {
                setBy(one);
                action.clear();
              }}
            >
              {one === "identity" ? "By person" : "By a token's claims"}
            </button>
          ))}
        </div>
        <Form
          key={`${by} ${asked.tenant} ${asked.person}`}
          action={action}
          submit="Explain"
          onSubmit={explain}
        >
          {by === "identity" ? (
            <>
              <TextField
                label="Tenant"
                name="tenant"
                value={asked.tenant}
                hint="Its slug: the short name in requests and in the list of tenants. Empty: the default tenant."
              />
              <TextField
                label="Person"
                name="person"
                field="subject"
                value={asked.person}
                hint="The e-mail address that the tenant has of them, or their subject: the “sub” of their token."
              />
              <TextField
                label="Provider"
                name="provider"
                value={asked.provider}
                hint="Who signs their token, its “iss”. Empty: a token without one, or the provider of the member with that address."
              />
            </>
          ) : (
            <>
              <TextField
                label="Claims or token"
                name="claims"
                rows={8}
                required
                hint="The claims as JSON, or a whole token: only its claims are sent, not its signature."
              />
              <TextField
                label="X-Tenant"
                name="header"
                hint="The tenant's slug that the request sent in this header, if any."
              />
            </>
          )}
        </Form>
      </div>
      {found && <Answer found={found} />}
    </>
  );
}

const filled = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields)
      .map(([name, text]) => [name, text.trim()] as const)
      .filter(([, text]) => text !== ""),
  );

async function byIdentity({ tenant = "", person = "", provider = "" }: Fields): Promise<Explanation> {
  const who = person.includes("@") && !provider ? await memberWith(tenant.trim(), person.trim()) : undefined;
  const query = filled({ tenant, subject: who?.subject ?? person, provider: who?.provider ?? provider });
  return (await call("explainAccess", { query })).body;
}

/** The identity that a tenant has under an e-mail address; undefined: the address may be the subject itself. */
async function memberWith(slug: string, email: string) {
  if (!slug) return undefined;
  const { body } = await call("listTenants", { query: { slug, limit: 1 } });
  const tenant_id = body.tenants[0]?.tenant_id;
  if (!tenant_id) return undefined;
  const query = { limit: 1000 };
  const { members } = (await call("listTenantMembers", { params: { tenant_id }, query })).body;
  const found = members.find(one => one.email?.toLowerCase() === email.toLowerCase());
  if (!found) return undefined;
  return { subject: found.auth_subject, provider: found.auth_provider === "jwt" ? "" : found.auth_provider };
}

async function byClaims({ claims = "", header = "" }: Fields): Promise<Explanation> {
  const text = claims.trim().replace(/^bearer\s+/i, "");
  let parsed: Record<string, unknown>;
  try {
    parsed = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : claimsOf(text);
  } catch (error) {
    throw new Mistake(`The claims are no JSON: ${(error as Error).message}`);
  }
  if (Object.keys(parsed).length === 0) throw new Mistake("There are no claims in it.");
  return (
    await call("explainClaims", { body: { claims: parsed, ...(header.trim() && { header: header.trim() }) } })
  ).body;
}
