import { useEffect, useState } from "preact/hooks";
import type { Explanation } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { useAction } from "../../parts/action.ts";
import { Mistake } from "../../parts/failure.tsx";
import { Form, TextField } from "../../parts/form.tsx";
import { Title } from "../../parts/text.tsx";
import { claimsOf } from "../../session.ts";
import { settings } from "../../settings.ts";
import { parseSettings } from "../settings/json.ts";
import { Answer } from "./answer.tsx";

type Fields = Record<string, string>;

/** `query`: the question, as the address has it. */
export function Why({ query }: { query: URLSearchParams }) {
  const [by, setBy] = useState<"identity" | "claims">("identity");
  const action = useAction();
  const [found, setFound] = useState<{ answer: Explanation; person: string } | null>(null);
  const explain = (fields: Fields) =>
    action.run(async () => {
      setFound(null);
      const answer = by === "identity" ? await byIdentity(fields) : await byClaims(fields);
      setFound({ answer, person: fields.person?.trim() ?? "" });
    });
  const asked = {
    tenant: query.get("tenant") ?? "",
    person: query.get("subject") ?? "",
    provider: query.get("provider") ?? "",
  };
  useEffect(() => {
    // From a member's row: the question is complete. From a search for a person it lacks the tenant.
    if (asked.person && (asked.tenant || !settings.multiTenant)) void explain(asked);
  }, []);
  return (
    <>
      <div class="head">
        <div>
          <Title id="why">Why refused?</Title>
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
        <Form key={by} action={action} submit="Explain" onSubmit={explain}>
          {by === "identity" ? (
            <>
              <TextField
                label="Tenant"
                name="tenant"
                value={asked.tenant}
                required={settings.multiTenant}
                hint={`The organization that they tried to open, by its name or its slug. Ask them, or read it in the address of their page.${settings.multiTenant ? "" : " Empty: the default tenant."}`}
              />
              <TextField
                label="Person"
                name="person"
                field="subject"
                maxLength={320}
                value={asked.person}
                hint="The e-mail address that the tenant has of them, or their subject: the “sub” of their token."
              />
              <TextField
                label="Provider"
                name="provider"
                maxLength={255}
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
      {found && <Answer found={found.answer} person={found.person} />}
    </>
  );
}

const filled = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields)
      .map(([name, text]) => [name, text.trim()] as const)
      .filter(([, text]) => text !== ""),
  );

const LONGEST = 255;

/** A tenant is known by its name, too. */
async function slugOf(text: string): Promise<string> {
  if (/^[a-z0-9-]*$/.test(text)) return text;
  const none = new Mistake(`No tenant has the name ${text}.`);
  if (text.length > LONGEST) throw none;
  const { body, next } = await call("listTenants", { query: { search: text, limit: 100 } });
  const [found, ...more] = body.tenants.filter(({ name }) => name.toLowerCase() === text.toLowerCase());
  if (more.length > 0) throw new Mistake(`Several tenants have the name ${text}. Give the slug of one.`);
  if (!found && next)
    throw new Mistake(`More than 100 tenants have ${text} in their name. Give the slug of one.`);
  if (!found) throw none;
  return found.slug;
}

async function byIdentity({ tenant: named = "", person = "", provider = "" }: Fields): Promise<Explanation> {
  const tenant = await slugOf(named.trim());
  const explained = async (fields: Fields) =>
    (await call("explainAccess", { query: filled({ tenant, ...fields }) })).body;
  const bySubject = () => explained({ subject: person, provider });
  if (!person.includes("@") || provider) return bySubject();
  const byEmail = await explained({ email: person });
  // An address may be longer than any subject.
  if (byEmail.membership || byEmail.allowed || person.length > LONGEST) return byEmail;
  // Some providers give the address as the subject.
  const other = await bySubject();
  return other.membership ? other : byEmail;
}

async function byClaims({ claims = "", header = "" }: Fields): Promise<Explanation> {
  const text = claims.trim().replace(/^bearer\s+/i, "");
  const parsed = text.startsWith("{") ? parseSettings(text) : claimsOf(text);
  if (typeof parsed === "string") throw new Mistake(parsed.replace("This is", "The claims are"));
  if (Object.keys(parsed).length === 0) throw new Mistake("There are no claims in it.");
  return (
    await call("explainClaims", { body: { claims: parsed, ...(header.trim() && { header: header.trim() }) } })
  ).body;
}
