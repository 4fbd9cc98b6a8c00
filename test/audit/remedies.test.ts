/** What a check prints to paste is pasted: it mends its finding, changes what it says, and loses nothing. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createDatabase, rolledBack } from "../harness.ts";
import { changes, fingerprint } from "./fingerprint.ts";
import { ALL_PLANTS, SHOP, table } from "./plants.ts";
import { CHECKS, findings, openAudit, plant } from "./session.ts";
import { seedTenants } from "./tenants.ts";

const database = await createDatabase();
await seedTenants(database.sql, 3);
const sql = await openAudit(database);
after(async () => {
  await sql.end();
  await database.drop();
});

/** All that the remedies of these plants change. A check that is not here prints steps: nothing that runs as it is. */
const MENDED: Record<string, string[]> = {
  constraint_off: ["~ constraint stays_room of shop.stays"],
  default_privileges: ["- defaults of tms_owner in shop"],
  foreign_table: ["~ relation shop.far"],
  function_leakproof: ["~ function shop.same(integer)"],
  grants_beyond: ["~ relation shop.granted"],
  key_crosses_tenants: [
    "+ constraint visits_place_tenant of shop.visits",
    "- constraint visits_place of shop.visits",
  ],
  owner_bypasses: ["~ relation shop.held"],
  publication: ["~ publication feed"],
  rls_disabled: [
    "+ policy auditor of shop.notes",
    "+ policy maintenance of shop.notes",
    "+ policy tenant_only of shop.notes",
    "+ policy tenant_rows of shop.notes",
    "~ relation shop.notes",
  ],
  role_bypasses: ["- member tms_app of shop_admin"],
  role_settings: ["- setting of shop_job"],
  schema_grants: ["~ schema made"],
  system_grants: ["- system object pg_statistic.stavalues1"],
  table_inherits: ["- parent of shop.secrets: shop.everything"],
  tenant_column: ["~ relation shop.drafts"],
  tenant_unchecked: ["+ constraint restored_tenant_id_fkey of shop.restored"],
  view_as_owner: ["~ relation shop.every_board"],
};
/** A foreign key's own triggers come and go with it; and roles are the cluster's, other tests make some. */
const isOther = (line: string) => /trigger RI_|^[+-] role /.test(line);

void describe("remedies", () => {
  it("mend what they are printed for, and change nothing else", () =>
    rolledBack(sql, async tx => {
      await plant(tx, ALL_PLANTS);
      const checks = CHECKS.filter(check => check !== "server_version");
      const found = await findings(tx, checks);
      const pasted = found.filter(({ remedy }) => !remedy.split("\n").every(line => line.startsWith("--")));
      const changed: Record<string, string[]> = {};
      for (const { check, remedy } of pasted) {
        const before = await fingerprint(tx);
        await tx.unsafe(remedy);
        changed[check] = changes(before, await fingerprint(tx)).filter(line => !isOther(line));
      }
      assert.deepEqual(changed, MENDED);
      // A function that was mended is to be read again; a foreign table that requests no longer reach is still one.
      const steps = found.filter(one => !pasted.includes(one)).map(({ check }) => check);
      const left = await findings(tx, checks);
      assert.deepEqual(
        left.map(({ check }) => check).sort(),
        [...steps, "foreign_table", "function_unknown"].sort(),
      );
      assert.equal(left.find(({ check }) => check === "foreign_table")!.severity, "warning");
    }));

  it("of every other check are comments to their last line", () =>
    rolledBack(sql, async tx => {
      await plant(tx, ALL_PLANTS);
      for (const { check, remedy } of await findings(tx, CHECKS))
        if (!(check in MENDED))
          for (const line of remedy.split("\n")) assert.match(line, /^-- /, `${check}: ${remedy}`);
    }));

  it("put a foreign key's replacement in its place in one statement, with its actions, and nothing where rows break it", () =>
    rolledBack(sql, async tx => {
      const [one, two] = await tx<{ id: string }[]>`select id from app.tenants order by id`;
      const key =
        "foreign key (place) references shop.places (id) on delete set null on update cascade deferrable";
      await plant(
        tx,
        `${SHOP} ${table("places")} alter table shop.places add unique (id); ${table("visits", "place uuid,")}
         alter table shop.visits add constraint visits_place ${key};
         insert into shop.places values ('${one!.id}', '${one!.id}'); insert into shop.visits values ('${two!.id}', '${two!.id}', '${one!.id}')`,
      );
      const [found] = await findings(tx, ["key_crosses_tenants"]);
      const before = await fingerprint(tx);
      await assert.rejects(
        tx.savepoint(s => s.unsafe(found!.remedy)),
        /violates foreign key constraint/,
      );
      assert.deepEqual(changes(before, await fingerprint(tx)), []);
      await tx.unsafe(`delete from shop.visits; ${found!.remedy}`);
      const [now] = await tx<{ text: string }[]>`
        select pg_get_constraintdef(oid) as text from pg_constraint where conname = 'visits_place_tenant'`;
      assert.equal(
        now!.text,
        "FOREIGN KEY (tenant_id, place) REFERENCES shop.places(tenant_id, id) ON UPDATE CASCADE ON DELETE SET NULL (place) DEFERRABLE",
      );
      assert.deepEqual(await findings(tx, ["key_crosses_tenants"]), []);
    }));

  it("make an index without a lock that stops requests", () =>
    rolledBack(sql, async tx => {
      await plant(tx, `${SHOP} ${table("drafts")} alter table shop.drafts drop constraint drafts_pkey`);
      const [found] = await findings(tx, ["tenant_column"]);
      assert.equal(found!.remedy, "create index concurrently on shop.drafts (tenant_id);");
      await tx.unsafe(found!.remedy.replace("concurrently ", "")); // which no transaction takes
      assert.deepEqual(await findings(tx, ["tenant_column"]), []);
    }));
});
