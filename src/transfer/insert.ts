/** The statements of an import. */
import type postgres from "postgres";
import { SQLSTATE } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import type { Header } from "./file.ts";
import { type Known, literal, quote } from "./tables.ts";

export function requireColumns(name: string, columns: string[], here: string[]): void {
  const missing = columns.filter(column => !here.includes(column));
  if (missing.length > 0)
    throw new StartupError(`${name} has no column ${missing.join(", ")} here, and the file has`);
}

export async function insertTenant(
  sql: postgres.TransactionSql,
  here: Known,
  row: string,
  { tenant }: Header,
  newSlug: string | undefined,
) {
  const { name, generated } = here;
  const given = keysOf(row);
  requireColumns(name, given, [...here.columns, ...generated]);
  const slug = newSlug ?? tenant.slug;
  const special = new Map([
    [
      "id",
      "case when $2 and not exists (select from app.tenants t where t.id = r.id) then r.id else gen_random_uuid() end",
    ],
    ["slug", "$3"],
  ]);
  // Files of an earlier release have generated columns too.
  const left = ["is_default", ...special.keys(), ...generated];
  const columns = [...special.keys(), ...given.filter(column => !left.includes(column))];
  await sql.unsafe("set local app.event = 'imported'");
  try {
    const [inserted] = await sql.unsafe<{ id: string; slug: string }[]>(
      `${insertion({ ...here, columns }, column => special.get(column) ?? `r.${quote(column)}`)} returning id, slug`,
      [`[${row}]`, newSlug === undefined, slug],
    );
    return inserted!;
  } catch (error) {
    const { code, constraint_name, message } = error as postgres.PostgresError;
    // Imports of one file at once may meet at the id first. Citus says the name in the message alone, with a number.
    if (
      code === SQLSTATE.unique_violation &&
      /\btenants_(slug_key|pkey)(_\d+)?\b/.test(constraint_name ?? message)
    )
      throw new StartupError(`A tenant with the slug ${slug} exists: --slug names another one`);
    throw error;
  }
}

function keysOf(row: string): string[] {
  try {
    return Object.keys(JSON.parse(row) as object);
  } catch {
    throw new StartupError("The file is damaged: its tenant is no JSON object");
  }
}

/**
 * The rows as they were, but for the tenant. What a column was not given, its default gives. A text makes a value of any type but
 * those of `json`, where it would become a JSON string.
 */
export async function insertRows(
  sql: postgres.TransactionSql,
  here: Known,
  json: string[],
  tenantId: string,
  rows: string[],
) {
  const value = (column: string) => {
    if (column === "tenant_id") return "$2::uuid";
    return json.includes(column) ? `(line.json ->> ${literal(column)})::json` : `r.${quote(column)}`;
  };
  await sql.unsafe(insertion(here, value), [`[${rows.join(",")}]`, tenantId]);
}

/** An insert of the rows of $1. Types are not named: tms_app may use them, but not every schema that they are in. */
function insertion({ name, columns, domains }: Known, value: (column: string) => string): string {
  // Of columns that are not given, only those of domains are looked at, and a domain may refuse null. What is given from the
  // start is not looked at again: a row without values, which only an outer join makes.
  const guarded = domains.some(column => !columns.includes(column));
  return `insert into ${name} (${columns.map(quote).join(", ")}) overriding system value
    select ${columns.map(value).join(", ")}
    from json_array_elements($1::text::json) line (json)
    ${guarded ? `left join ${name} nothing on false` : ""}
    cross join json_populate_record(${guarded ? `row(nothing.*)::${name}` : `null::${name}`}, line.json) r`;
}

/** A number that was imported must not be given out again. */
export async function advanceSequences(
  sql: postgres.TransactionSql,
  tables: Known[],
  tenantId: string,
): Promise<void> {
  const names = JSON.stringify(tables.map(({ name }) => name));
  const found = await sql<
    { table: string; column: string; sequence: string; ascending: boolean; least: string; most: string }[]
  >`
    select distinct t as table, a.attname as column, s.seqrelid::regclass::text as sequence, s.seqincrement > 0 as ascending,
      s.seqmin::text as least, s.seqmax::text as most
    from json_array_elements_text(${names}::text::json) t
    join pg_attribute a on a.attrelid = t::regclass
    join pg_type y on y.oid = a.atttypid
    left join pg_attrdef f on f.adrelid = a.attrelid and f.adnum = a.attnum
    join pg_depend d on d.refclassid = 'pg_class'::regclass
      and case d.classid
        when 'pg_class'::regclass then d.refobjid = a.attrelid and d.refobjsubid = a.attnum
        -- One that it does not own, and others may share.
        when 'pg_attrdef'::regclass then d.objid = f.oid end
    join pg_sequence s on s.seqrelid = case d.classid when 'pg_class'::regclass then d.objid else d.refobjid end
    where coalesce(nullif(y.typbasetype, 0), y.oid) = any ('{smallint,integer,bigint,numeric}'::regtype[])
      and has_sequence_privilege(s.seqrelid, 'select') and has_sequence_privilege(s.seqrelid, 'update')`;
  for (const { table, column, sequence, ascending, least, most } of found) {
    const { from } = tables.find(({ name }) => name === table)!;
    const [furthest, beyond] = ascending ? ["max", ">="] : ["min", "<="];
    await sql.unsafe(
      `select setval(${literal(sequence)}, furthest::bigint)
       from ${sequence} s, (
         select ${furthest}(${quote(column)}) as furthest
         from ${from} where tenant_id = $1 and ${quote(column)} between ${least} and ${most}) rows
       where furthest ${beyond} s.last_value`,
      [tenantId],
    );
  }
}
