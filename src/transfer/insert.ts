/** The statements of an import. */
import type postgres from "postgres";
import { SQLSTATE } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { ident, literal } from "../values/sql-names.ts";
import type { Header } from "./file.ts";
import type { Known } from "./tables.ts";

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
  // Files of earlier releases contain generated columns.
  const left = ["is_default", ...special.keys(), ...generated];
  const columns = [...special.keys(), ...given.filter(column => !left.includes(column))];
  await sql.unsafe("set local app.event = 'tenant.imported'");
  try {
    const [inserted] = await sql.unsafe<{ id: string; slug: string }[]>(
      `${insertion({ ...here, columns }, column => special.get(column) ?? `r.${ident(column)}`)} returning id, slug`,
      [`[${row}]`, newSlug === undefined, slug],
    );
    return inserted!;
  } catch (error) {
    if (isTaken(error))
      throw new StartupError(`A tenant with the slug ${slug} exists: --slug names another one`);
    throw error;
  }
}

/** Concurrent imports of one file may conflict on the id first. Citus names the constraint in the message only, with a number. */
const isTaken = (error: unknown) => {
  const { code, constraint_name, message } = error as postgres.PostgresError;
  return (
    code === SQLSTATE.unique_violation &&
    /\btenants_(slug_key|pkey)(_\d+)?\b/.test(constraint_name ?? message)
  );
};

/** What an operator has decided since: the file has no say in it. */
export const KEPT = ["id", "status", "is_default", "deleted_at", "purge_at", "status_before", "updated_at"];

/** Gives a tenant the name, slug, settings and registration of the file. */
export async function replaceTenant(
  sql: postgres.TransactionSql,
  here: Known,
  row: string,
  { tenant }: Header,
): Promise<{ id: string; slug: string }> {
  const given = keysOf(row);
  requireColumns(here.name, given, [...here.columns, ...here.generated]);
  const columns = given.filter(column => !KEPT.includes(column) && !here.generated.includes(column));
  await sql.unsafe("set local app.event = 'tenant.replaced'");
  try {
    const [replaced] = await sql.unsafe<{ id: string; slug: string }[]>(
      `update app.tenants t
       set ${columns.map(column => `${ident(column)} = r.${ident(column)}`).join(", ")},
         updated_at = greatest(clock_timestamp(), t.updated_at + interval '1 microsecond')
       from ${rowsIn({ ...here, columns: given })} where t.id = $2 returning t.id, t.slug`,
      [`[${row}]`, tenant.id],
    );
    return replaced!;
  } catch (error) {
    if (isTaken(error))
      throw new StartupError(
        `The slug ${tenant.slug} of the file is another tenant's by now: rename that tenant first`,
      );
    throw error;
  }
}

function keysOf(row: string): string[] {
  try {
    return Object.keys(JSON.parse(row) as object);
  } catch {
    throw new StartupError("The file is damaged: its tenant is not a JSON object");
  }
}

/**
 * Inserts the rows under the new tenant's id. Columns that the file lacks get their defaults. Text converts to every type but
 * those in `json`, where it would become a JSON string.
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
    return json.includes(column) ? `(line.json ->> ${literal(column)})::json` : `r.${ident(column)}`;
  };
  await sql.unsafe(insertion(here, value), [`[${rows.join(",")}]`, tenantId]);
}

/** The `from` item for the rows of $1, called r. Types are not named, because tms_app may lack usage on their schemas. */
function rowsIn({ name, columns, domains }: Known): string {
  // json_populate_record checks a missing column only if its type is a domain, which may refuse null. It does not check the
  // values of its base row, so that is a row of nulls, which only an outer join yields.
  const guarded = domains.some(column => !columns.includes(column));
  return `json_array_elements($1::text::json) line (json)
    ${guarded ? `left join ${name} nothing on false` : ""}
    cross join json_populate_record(${guarded ? `row(nothing.*)::${name}` : `null::${name}`}, line.json) r`;
}

/** Inserts the rows of $1. */
const insertion = (here: Known, value: (column: string) => string) =>
  `insert into ${here.name} (${here.columns.map(ident).join(", ")}) overriding system value
    select ${here.columns.map(value).join(", ")} from ${rowsIn(here)}`;

/** Moves sequences past the imported values, so that they are not issued again. */
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
         select ${furthest}(${ident(column)}) as furthest
         from ${from} where tenant_id = $1 and ${ident(column)} between ${least} and ${most}) rows
       where furthest ${beyond} s.last_value`,
      [tenantId],
    );
  }
}
