/**
 * Two-state noninterference: a battery of statements, made from the catalog, runs inside tenant A once while tenant B does
 * not exist and once while B has a row in every table. Whatever differs between the two runs (a row, a count, an error's
 * text) is something A learned about B, and whatever changes in B is something A did to it.
 */
import {
  insert,
  makeRow,
  makeTenant,
  pointing,
  quoted,
  type Row,
  type Table,
  tenantTables,
  write,
} from "../rows.ts";
import type { Transaction } from "../support.ts";

const A = "aaaaaaaa-0000-4000-8000-000000000000";
const B = "bbbbbbbb-0000-4000-8000-000000000000";
const NOBODY = "00000000-0000-4000-8000-000000000000";

interface Probe {
  name: string;
  sql: string;
  role: string;
  /** null: none. */
  tenant: string | null;
}

/** Every kind of statement that a tenant could try on a table. */
function probes(table: Table, index: number, a: Record<string, Row>, b: Record<string, Row>): Probe[] {
  const { name, tenant } = table;
  const theirs = b[name]!;
  const fresh = makeRow(table, 14, A, a, "fresh");
  const sameKeys = { ...theirs };
  for (const key of table.keys) Object.assign(sameKeys, pointing(key, a));
  if (tenant === "tenant_id") sameKeys.tenant_id = A;
  const column = table.columns[1]!.name;
  const id = table.columns.find(one => one.name === "id") ? "id" : table.columns[1]!.name;
  const forged = { ...fresh, [tenant]: B };
  const merge = `merge into ${name} t using (values (${quoted(theirs[id]!)}::uuid)) s (id) on t.${id} = s.id`;
  const inside: [string, string][] = [
    ["read", `select to_jsonb(t.*) from ${name} t`],
    ["count", `select count(*) from ${name}`],
    [
      "read theirs",
      `select to_jsonb(t.*) from ${name} t where ${tenant} = '${B}' or ${id} = ${quoted(theirs[id]!)}`,
    ],
    ["read for update", `select to_jsonb(t.*) from ${name} t for update`],
    ["insert a row of theirs", insert(name, forged)],
    [
      "insert a row of theirs, on conflict do nothing",
      insert(name, theirs, "on conflict do nothing returning *"),
    ],
    ["insert with their keys", insert(name, sameKeys)],
    ["insert with their keys, on conflict do nothing", insert(name, sameKeys, "on conflict do nothing")],
    [
      "insert with their keys, on conflict do update",
      insert(
        name,
        sameKeys,
        `on conflict on constraint ${name.split(".")[1]}_pkey do update set ${column} = excluded.${column} returning *`,
      ),
    ],
    ...table.keys
      .filter(key => key.parent !== "app.tenants")
      .flatMap((key): [string, string][] => {
        const { tenant_id: _, ...pointer } = pointing(key, b);
        const sets = Object.entries(pointer).map(([one, value]) => `${one} = ${quoted(value)}`);
        return [
          [
            `insert pointing at their ${key.parent} by ${key.columns.join()}`,
            insert(name, { ...fresh, ...pointer }),
          ],
          [
            `update pointing at their ${key.parent} by ${key.columns.join()}`,
            `update ${name} set ${sets.join()}`,
          ],
        ];
      }),
    ["update all", `update ${name} set ${column} = ${column}`],
    ["update all, returning", `update ${name} set ${column} = ${column} returning *`],
    ["move all to them", `update ${name} set ${tenant} = '${B}'`],
    ["move theirs here", `update ${name} set ${tenant} = '${A}' where ${tenant} = '${B}'`],
    [
      "update theirs",
      `update ${name} set ${column} = ${column} where ${id} = ${quoted(theirs[id]!)} returning *`,
    ],
    ["merge, update", `${merge} when matched then update set ${column} = t.${column}`],
    ["merge, delete", `${merge} when matched then delete`],
    ["delete all", `delete from ${name}`],
    ["delete theirs", `delete from ${name} where ${tenant} = '${B}' returning *`],
    ["truncate", `truncate ${name} cascade`],
    [
      "read with a plan cached in their tenant",
      `set local plan_cache_mode = force_generic_plan; set local app.tenant_id = '${B}';
       prepare probe_${index} as select to_jsonb(t.*) from ${name} t;
       do $$ begin execute 'execute probe_${index}'; end $$;
       set local app.tenant_id = '${A}'; execute probe_${index}; deallocate probe_${index}`,
    ],
  ];
  const outside: [string, string][] = [
    ["read", `select to_jsonb(t.*) from ${name} t`],
    ["insert", insert(name, fresh)],
    ["update all", `update ${name} set ${column} = ${column}`],
    ["delete all", `delete from ${name}`],
  ];
  return [
    ...inside.map(([what, sql]) => ({ name: `${name}: ${what}`, sql, role: "tms_app", tenant: A })),
    ...[null, NOBODY].flatMap(no =>
      outside.map(([what, sql]) => ({
        name: `${name}: ${what} in tenant ${no}`,
        sql,
        role: "tms_app",
        tenant: no,
      })),
    ),
    {
      name: `${name}: read as the owner of the table`,
      sql: `select to_jsonb(t.*) from ${name} t`,
      role: "tms_owner",
      tenant: null,
    },
  ];
}

/** Called by the service for itself, never for a client: the number of tenants, and whether a first start creates one. */
const SERVICE = ["ensure_default_tenant", "get_readiness"];
/** Registration tells whether a slug is used, by decision. A caller's own tenants are the same, whatever tenant is named. */
const LOBBY = ["register_tenant", "get_registration_status", "list_my_tenants"];

/** Every function that tms_app or tms_service may execute, with arguments that name tenant B where possible. */
async function functionProbes(tx: Transaction, b: Record<string, Row>): Promise<Probe[]> {
  const functions = await tx<
    { name: string; schema: string; names: string[]; types: string[]; role: string }[]
  >`
    select p.oid::regproc::text as name, p.pronamespace::regnamespace::text as schema, r.role,
      coalesce((p.proargnames)[1:p.pronargs], '{}') as names,
      array(select format_type(t, null) from unnest(p.proargtypes) with ordinality as u (t, n) order by n) as types
    from pg_proc p, (values ('tms_app'), ('tms_service')) r (role)
    where p.pronamespace::regnamespace::text in ('app', 'api', 'audit', 'control') and p.prokind = 'f'
      and p.prorettype <> 'trigger'::regtype
      and not exists (select from pg_depend where objid = p.oid and deptype = 'e')
      and p.proname <> all (${SERVICE})
      and has_function_privilege(r.role, p.oid, 'execute') and has_schema_privilege(r.role, p.pronamespace, 'usage')`;
  const known = (slug: string): Record<string, string | null> => ({
    p_tenant_slug: slug,
    p_auth_provider: "a-word",
    p_auth_subject: "a-word",
    slug,
    provider: "a-word",
    subject: "a-word",
    p_slug: "b-word-slug",
    p_tenant_id: B,
    p_user_id: b["app.users"]!.id!,
    p_cursor: null,
    p_status: null,
    p_search: "b-word",
    p_limit: "1000",
    p_identity: "somebody",
  });
  const value = (slug: string, role: string, name: string, type: string): string => {
    // tms_app may set any tenant, so here it sets its own.
    if (type === "app.caller")
      return `row(${quoted(slug)}, 'a-word', 'a-word', null, null, 'tenant-operator')::app.caller`;
    const given = role === "tms_app" && name === "p_tenant_id" ? A : known(slug)[name];
    if (given === null) return "null";
    if (given !== undefined) return `${quoted(given)}::${type}`;
    if (type === "uuid") return quoted(b["app.users"]!.id!);
    if (type === "text") return "'probe-text'";
    if (/int/.test(type)) return "10";
    if (type === "jsonb" || type === "json") return `'{}'::${type}`;
    if (type === "boolean") return "false";
    return `null::${type}`;
  };
  return functions.flatMap(({ name, names, types, role }) =>
    ["a-word-slug", "b-word-slug"]
      .filter(
        slug =>
          slug === "a-word-slug" ||
          ([...names, ...types].some(one => ["p_tenant_slug", "slug", "app.caller"].includes(one)) &&
            !LOBBY.includes(name.split(".")[1]!)),
      )
      .map(slug => ({
        name: `${name}(${slug}) by ${role}`,
        sql: `select f::text from ${name}(${types.map((type, i) => value(slug, role, names[i] ?? "", type)).join()}) f;
              select current_setting('app.tenant_id', true) as residue`,
        role,
        tenant: role === "tms_app" ? A : null,
      })),
  );
}

/** All other relations that tms_app can name, such as views and partitions. */
async function otherProbes(tx: Transaction, tables: Table[]): Promise<Probe[]> {
  const others = await tx<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind in ('v', 'm', 'f', 'p', 'r') and not c.oid::regclass::text = any (${tables.map(table => table.name)})
      and c.relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema', 'pg_toast')`;
  return others.map(({ name }) => ({
    name: `${name}: read`,
    sql: `select to_jsonb(t.*) from ${name} t`,
    role: "tms_app",
    tenant: A,
  }));
}

/** Generated ids and times tell nothing about B. */
const normal = (value: unknown) =>
  (JSON.stringify(value) ?? "")
    .replace(/(?!aaaaaaaa|bbbbbbbb)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uuid>")
    .replace(/\d{4}-\d\d-\d\d[T ][\d:.]+(Z|\+00(:00)?)?/g, "<time>")
    .replace(/\b1[789]\d{8}\b/g, "<epoch>");

interface Observation {
  answer: string;
  /** B's rows after it. */
  theirs: string;
}

async function observe(
  tx: Transaction,
  { sql, role, tenant }: Probe,
  fingerprint: string,
): Promise<Observation> {
  await tx.unsafe("savepoint probe");
  try {
    const enter = tenant === null ? "" : `set local app.tenant_id = '${tenant}';`;
    const results = [await tx.unsafe(`set local role ${role}; ${enter} ${sql}`)].flat() as unknown as {
      count?: number;
    }[];
    const rows = results.flatMap(result => (Array.isArray(result) ? result : [result]));
    const counts = results.map(result => result.count ?? 0);
    const answer = normal([counts, rows.map(row => JSON.stringify(row)).sort()]);
    await tx.unsafe("set local role none");
    const [after] = await tx.unsafe(fingerprint);
    return { answer, theirs: after!.hash };
  } catch (error) {
    const { code, message, detail } = error as { code: string; message: string; detail?: string };
    if (!code) throw error;
    return { answer: normal([code, message, detail]), theirs: "" };
  } finally {
    await tx.unsafe("rollback to savepoint probe");
  }
}

/**
 * What A learned of B or did to B, one line each; empty when B might as well not exist. `mutate` spoils the isolation first.
 * Throws where a table exists that no row can be made for. The transaction is the superuser's, and to be rolled back.
 */
export async function leaks(tx: Transaction, mutate?: string): Promise<string[]> {
  const tables = await tenantTables(tx);
  const [a, b] = [makeTenant(tables, A, "a-word"), makeTenant(tables, B, "b-word")];
  await write(tx, a);
  await tx`update app.users set role = 'owner' where tenant_id = ${A}`;
  const fingerprint = `select md5(concat(${tables
    .map(
      ({ name, tenant }) =>
        `(select string_agg((t.*)::text, ',' order by (t.*)::text) from ${name} t where ${tenant} = '${B}')`,
    )
    .join(", '|', ")})) as hash`;

  const run = async (populated: boolean) => {
    await tx.unsafe("savepoint state");
    if (populated) await write(tx, b);
    if (mutate) await tx.unsafe(mutate);
    const [before] = await tx.unsafe(fingerprint);
    const all = [
      ...tables.flatMap((table, index) => probes(table, index, a, b)),
      ...(await otherProbes(tx, tables)),
      ...(await functionProbes(tx, b)),
    ];
    const seen = new Map<string, Observation>();
    for (const probe of all) seen.set(probe.name, await observe(tx, probe, fingerprint));
    await tx.unsafe("rollback to savepoint state");
    return { seen, before: before!.hash as string };
  };
  const [empty, full] = [await run(false), await run(true)];
  return [...full.seen].flatMap(([name, { answer, theirs }]) => {
    const other = empty.seen.get(name)!.answer;
    return [
      ...(answer === other ? [] : [`${name} answers ${answer}, without B ${other}`]),
      ...(theirs === "" || theirs === full.before ? [] : [`${name} changed rows of B`]),
      // A may not write a row for B, whether B has rows or not.
      ...(theirs !== "" && empty.seen.get(name)!.theirs !== empty.before && answer === other
        ? [`${name} put rows into B`]
        : []),
    ];
  });
}

/** What a run covers: which tables, and how many functions. */
export async function size(tx: Transaction) {
  const tables = await tenantTables(tx);
  return {
    tables: tables.map(table => table.name),
    functions: (await functionProbes(tx, makeTenant(tables, B, "b-word"))).length,
  };
}
