import { useState } from "preact/hooks";
import type { Explanation } from "../../client/api.ts";
import { call } from "../api.ts";
import { Form, TextField } from "../parts/form.tsx";
import { useAction } from "../parts/load.tsx";
import { Table } from "../parts/table.tsx";
import { Badge, Name, Time, Title } from "../parts/text.tsx";
import { claimsOf } from "../session.ts";

export function Why() {
  const [by, setBy] = useState<"identity" | "claims">("identity");
  const action = useAction();
  const [found, setFound] = useState<Explanation | null>(null);
  const explain = (fields: Record<string, string>) =>
    action.run(async () => {
      setFound(null);
      setFound(by === "identity" ? await byIdentity(fields) : await byClaims(fields));
    });
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
      <div class="panel">
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
              {one === "identity" ? "By identity" : "By a token's claims"}
            </button>
          ))}
        </div>
        <Form key={by} action={action} submit="Explain" onSubmit={explain}>
          {by === "identity" ? (
            <>
              <TextField label="Tenant" name="tenant" hint="Its slug. Empty: the default tenant." />
              <TextField label="Subject" name="subject" hint="The sub of their token." />
              <TextField
                label="Provider"
                name="provider"
                hint="The iss of their token. Empty: a token without one."
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
                hint="What the request sent in this header, if anything."
              />
            </>
          )}
        </Form>
      </div>
      {found && <Answer found={found} />}
    </>
  );
}

const filled = (fields: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(fields)
      .map(([name, text]) => [name, text.trim()])
      .filter(([, text]) => text !== ""),
  );

async function byIdentity(fields: Record<string, string>): Promise<Explanation> {
  return (await call("explainAccess", { query: filled(fields) })).body;
}

async function byClaims({ claims = "", header = "" }: Record<string, string>): Promise<Explanation> {
  const text = claims.trim().replace(/^bearer\s+/i, "");
  let parsed: Record<string, unknown>;
  try {
    parsed = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : claimsOf(text);
  } catch (error) {
    throw new Error(`The claims are no JSON: ${(error as Error).message}`);
  }
  if (Object.keys(parsed).length === 0) throw new Error("There are no claims in it.");
  return (
    await call("explainClaims", { body: { claims: parsed, ...(header.trim() && { header: header.trim() }) } })
  ).body;
}

function Answer({ found }: { found: Explanation }) {
  const {
    allowed,
    because,
    refusal,
    tenant,
    membership,
    identity,
    operator,
    roles,
    tables = [],
    notes = [],
  } = found;
  return (
    <section class="stack" aria-label="Answer" aria-live="polite">
      <p class={`note ${allowed ? "good" : "bad"}`}>
        <b>{allowed ? "Let in." : "Refused."}</b> {because}
        {/[.!]$/.test(because) ? "" : "."}
        {refusal && (
          <>
            {" "}
            They get {refusal.status} {refusal.error}.
          </>
        )}
      </p>
      {notes.map(note => (
        <p key={note} class="note warn">
          {note}.
        </p>
      ))}
      {tenant && (
        <ol class="flow" aria-label="The way of the request">
          <li>
            <b>Identity</b>
            <Name>{identity?.subject}</Name>
            <code class="dim">{identity?.provider}</code>
            {operator && <Badge>operator</Badge>}
          </li>
          <li>
            <b>Tenant</b>
            <code>{tenant.slug ?? "(default)"}</code>
            <span class="dim">
              {tenant.source === "given" ? "as given" : `named by ${tenant.source.replaceAll("_", " ")}`}
            </span>
            {tenant.exists ? <Badge>{tenant.status ?? "unknown"}</Badge> : <Badge>unknown</Badge>}
          </li>
          <li>
            <b>Membership</b>
            {membership ? (
              <>
                <Badge>{membership.role}</Badge>
                <span class="dim">
                  since <Time at={membership.joined_at} />
                </span>
                {membership.removed_at && (
                  <span>
                    ended <Time at={membership.removed_at} />
                  </span>
                )}
              </>
            ) : (
              "none"
            )}
          </li>
          <li>
            <b>Database</b>
            <code>{roles?.login.name}</code>
            <span class="dim">acts as</span>
            <code>{roles?.acts_as.name}</code>
          </li>
        </ol>
      )}
      {tables.length > 0 && (
        <div class="panel flush">
          <Table
            label="What they would see"
            rows={tables}
            keyOf={({ table }) => table}
            columns={[
              ["Table", ({ table }) => <code>{table}</code>],
              ["Row security", ({ row_security }) => <Badge>{row_security}</Badge>, "tight"],
              [
                "The tenant has",
                ({ held, more }) => (held === null ? "?" : `${held.toLocaleString("en")}${more ? "+" : ""}`),
                "num",
              ],
              ["They see", ({ shown }) => (shown === null ? "?" : shown.toLocaleString("en")), "num"],
            ]}
          />
        </div>
      )}
    </section>
  );
}
