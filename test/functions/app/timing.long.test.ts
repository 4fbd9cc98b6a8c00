/** How long a refusal takes tells nobody whether a tenant, an invitation or a key exists: medians of calls in turn, in one session. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import type postgres from "postgres";
import { createDatabase, type Database, seedTenant, seedUser } from "../../harness.ts";

const ROUNDS = 600;
/** Noise that medians of one session keep on a busy machine. */
const NOISE = 1.25;
const TRIES = 5;

let database: Database;
let session: postgres.ReservedSql;
before(async () => {
  database = await createDatabase();
  const { sql } = database;
  for (const status of ["active", "pending", "suspended"])
    await seedUser(sql, await seedTenant(sql, { slug: status, status }), { subject: "ann", role: "owner" });
  await sql`
    insert into app.tenants (slug, name, status, deleted_at, purge_at, status_before)
    values ('deleted', 'deleted', 'deleted', now(), now(), 'active')`;
  session = await sql.reserve();
  // Each call is undone, so that it finds what the one before it found.
  await session.unsafe(`
    create function pg_temp.medians(p_calls text[], p_rounds int) returns setof float8 language plpgsql as $$
    declare
      v_times float8[][] := array_fill(0::float8, array[cardinality(p_calls), p_rounds]);
      v_from timestamptz;
    begin
      for v_round in 1..p_rounds loop
        for v_call in 1..cardinality(p_calls) loop
          v_from := clock_timestamp();
          begin
            execute p_calls[v_call];
            raise exception using errcode = 'TM000', message = 'nothing was refused';
          exception when sqlstate 'TM403' or sqlstate 'TM401' then null;
          end;
          v_times[v_call][v_round] := extract(epoch from clock_timestamp() - v_from) * 1000000;
        end loop;
      end loop;
      return query select (select percentile_cont(0.5) within group (order by t) from unnest(v_times[c:c][:]) t)
        from generate_series(1, cardinality(p_calls)) c;
    end $$`);
});
after(async () => {
  session.release();
  await database.drop();
});

/** Fails unless refusals take as long, in one of a few tries: a busy machine disturbs some. */
async function alike(calls: Record<string, string>) {
  let told = "";
  for (let trying = 0; trying < TRIES; trying++) {
    const rows = await session<{ us: number }[]>`
      select pg_temp.medians(${Object.values(calls)}, ${ROUNDS}) as us`;
    const medians = rows.map(({ us }) => us);
    told = Object.keys(calls)
      .map((name, i) => `${name} ${medians[i]!.toFixed(1)} µs`)
      .join(", ");
    if (Math.max(...medians) < NOISE * Math.min(...medians)) return told;
  }
  assert.fail(`One can tell them apart: ${told}`);
}

const hash = (secret: string) => createHash("sha256").update(secret).digest("hex");

const enter = (slug: string, subject: string) =>
  `select api.get_current_tenant(row('${slug}', 'jwt', '${subject}', null, null, 'tenant-operator'))`;

test("a tenant that is unknown, pending, suspended, deleted, or not the caller's, is refused as fast", async t => {
  t.diagnostic(
    await alike({
      unknown: enter("unknown", "ann"),
      "not a member": enter("active", "bob"),
      pending: enter("pending", "ann"),
      suspended: enter("suspended", "ann"),
      deleted: enter("deleted", "ann"),
    }),
  );
});

test("an invitation that is unknown, expired, for another person, or of an unknown tenant, is refused as fast", async t => {
  const { sql } = database;
  const [inviter] = await sql<{ tenant_id: string; id: string }[]>`
    select tenant_id, id from app.users where tenant_id = (select id from app.tenants where slug = 'active')`;
  const { tenant_id: tenant, id } = inviter!;
  await sql`
    insert into app.invitations (tenant_id, token_hash, invited_by, email, created_at, expires_at)
    values (${tenant}, decode(${hash("expired")}, 'hex'), ${id}, null, now() - interval '2 days', now() - interval '1 day'),
      (${tenant}, decode(${hash("another's")}, 'hex'), ${id}, 'bob@example.com', now(), now() + interval '1 day')`;
  const accept = (of: string, secret: string) =>
    `select api.accept_invitation(row('x', 'jwt', 'eve', 'eve@example.com', null, null), '${of}', '${hash(secret)}', 'eve@example.com')`;
  t.diagnostic(
    await alike({
      unknown: accept(tenant, "unknown"),
      expired: accept(tenant, "expired"),
      "another's": accept(tenant, "another's"),
      "of an unknown tenant": accept("00000000-0000-4000-8000-000000000000", "unknown"),
      malformed: accept("", "unknown"),
    }),
  );
});

test("a key that is unknown, expired, revoked, or of an unknown tenant, is refused as fast", async t => {
  const { sql } = database;
  const [maker] = await sql<{ tenant_id: string; id: string }[]>`
    select tenant_id, id from app.users where tenant_id = (select id from app.tenants where slug = 'active')`;
  const { tenant_id: tenant, id } = maker!;
  for (const name of ["expired", "revoked"])
    await sql`
      with u as (
        insert into app.users (tenant_id, auth_provider, auth_subject) values (${tenant}, 'key', gen_random_uuid()) returning id, auth_subject)
      insert into app.api_keys (tenant_id, id, user_id, name, secret_hash, created_by, created_at, expires_at, revoked_at)
      select ${tenant}, auth_subject::uuid, id, ${name}, decode(${hash(name)}, 'hex'), ${id}, now() - interval '2 days',
        ${name === "expired" ? sql`now() - interval '1 day'` : null}, ${name === "revoked" ? sql`now()` : null} from u`;
  const use = (of: string, secret: string) =>
    `select api.get_current_tenant(row('', 'key', '${of}:${hash(secret)}', null, null, 'tenant-operator'))`;
  t.diagnostic(
    await alike({
      unknown: use(tenant, "unknown"),
      expired: use(tenant, "expired"),
      revoked: use(tenant, "revoked"),
      "of an unknown tenant": use("00000000-0000-4000-8000-000000000000", "unknown"),
    }),
  );
});
