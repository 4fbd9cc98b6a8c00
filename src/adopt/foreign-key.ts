/** A foreign key as SQL writes it, with each of its clauses. */
import { ident } from "../values/sql-names.ts";
import type { Key, Table } from "./living.ts";

const ACTIONS: Record<string, string> = { c: "cascade", r: "restrict", n: "set null", d: "set default" };

export const names = (columns: string[]) => columns.map(ident).join(", ");

/** ON DELETE or ON UPDATE that overwrites columns. */
export const overwrites = (action: string) => action === "n" || action === "d";

/** The columns that ON DELETE overwrites. */
export const overwritten = ({ columns, sets, onDelete }: Key) =>
  overwrites(onDelete) ? (sets.length > 0 ? sets : columns) : [];

export const actionOf = (onDelete: string) => ACTIONS[onDelete] ?? "no action";

type Clauses = Omit<Key, "name" | "valid" | "hidden">;

export function foreignKey({
  columns,
  parents,
  parent,
  full,
  onDelete,
  onUpdate,
  sets,
  deferrable,
}: Clauses): string {
  return (
    [
      `foreign key (${names(columns)}) references ${parent} (${names(parents)})`,
      ...(full ? ["match full"] : []),
      ...(ACTIONS[onDelete]
        ? [`on delete ${ACTIONS[onDelete]}${sets.length > 0 ? ` (${names(sets)})` : ""}`]
        : []),
      ...(ACTIONS[onUpdate] ? [`on update ${ACTIONS[onUpdate]}`] : []),
    ].join(" ") + deferrable
  );
}

/** A remedy: the same key, whose ON DELETE leaves the tenant's column alone. */
export function thatKeeps({ relation, column }: Table, key: Key): string {
  const without = (columns: string[]) => columns.filter(name => name !== column);
  const [others] = [without(overwritten(key)), without(key.columns)].filter(({ length }) => length > 0);
  const clauses = foreignKey(others ? { ...key, sets: others } : { ...key, onDelete: "c", sets: [] });
  const [alter, name] = [`alter table ${relation}`, ident(key.name)];
  return (
    (others
      ? "Replace it:\n"
      : "Replace it. From then on ROWS ARE DELETED with the row that they refer to; with on delete restrict that row cannot be deleted:\n") +
    `    ${alter} drop constraint ${name}, add constraint ${name} ${clauses} not valid;\n` +
    `    ${alter} validate constraint ${name};`
  );
}
