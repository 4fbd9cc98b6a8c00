import { setTimeout as sleep } from "node:timers/promises";
import type postgres from "postgres";
import type { CommandModule } from "yargs";
import { isUnreachable } from "../errors/network.ts";
import { StartupError } from "../errors/startup-error.ts";
import { plain } from "../values/printable.ts";
import { flagOption, nameOption, numberFrom, textOption } from "./options.ts";
import { printLine } from "./output.ts";
import { asOwner } from "./owner.ts";

interface Arguments {
  tenant: string | undefined;
  last: string;
  follow: boolean;
  json: boolean;
}

interface Event {
  id: string;
  at: string;
  event: string;
  tenant_id: string;
  slug: string;
  name: string;
  changed: string[] | null;
  actor: { provider: string; subject: string } | null;
  login: string;
}

/** So many of the newest events may stem from transactions that were still open at the first look. */
const LATECOMERS = 10_000;
const MOST_AT_ONCE = 2_000;

/**
 * The first or last events after an id, without those in `seen`, ordered by id. `slug` also finds the tenant's events under its
 * former slugs.
 */
const read = (
  sql: postgres.Sql,
  slug: string | undefined,
  after: number,
  which: "first" | "last",
  limit: number,
  seen: Iterable<number> = [],
) =>
  sql<Event[]>`
    select * from (
      select id, app.iso_time(at) as at, event, tenant_id, slug, name, to_json(changed) as changed,
        case when actor_subject is not null then json_build_object('provider', actor_provider, 'subject', actor_subject) end as actor, login
      from control.tenant_events
      where id > ${after} and id <> all (${`{${[...seen].join()}}`}::text::bigint[])
        and (${slug ?? null}::text is null
          or tenant_id in (select tenant_id from control.tenant_events where slug = ${slug ?? null}))
      order by id ${which === "first" ? sql`` : sql`desc`} limit ${limit}) found
    order by id`;

/** The newest event, the next transaction id, and whether every transaction before `xmax` has ended. */
const edgeOf = async (sql: postgres.Sql, xmax = "0") => {
  const [edge] = await sql<[{ id: string; xmax: string; ended: boolean }]>`
    select (select coalesce(max(id), 0) from control.tenant_events) as id, pg_snapshot_xmax(now)::text as xmax,
      pg_snapshot_xmin(now) >= ${xmax}::text::xid8 as ended
    from pg_current_snapshot() now`;
  return edge;
};

/** A tenant may have no events, if they were deleted; a slug without a tenant is a typing error. `--follow` may wait for one. */
async function requireTenant(sql: postgres.Sql, slug: string): Promise<void> {
  const found = await sql.begin(async tx => {
    await tx`set local app.maintenance = on`;
    return tx`select from app.tenants where slug = ${slug}`;
  });
  if (found.count === 0)
    throw new StartupError(`There is no tenant with the slug ${slug}, and no event of one`);
}

const toText = ({ at, event, slug, name, changed, actor, login }: Event) =>
  `${at.slice(0, 19)}Z  ${event.padEnd(18)}  ${slug} (${name})${changed ? ` ${changed.join(", ")}` : ""}  by ${
    actor ? `${actor.subject} of ${actor.provider}` : `the login ${login}`
  }`;

export const events: CommandModule<object, Arguments> = {
  command: "events",
  describe: "Show what happened to tenants, when and by whom",
  builder: yargs =>
    yargs
      .option("tenant", nameOption("tenant", "Slug of one tenant, current or former"))
      .option("last", { ...textOption("Number of events, newest last"), default: "100" })
      .option("follow", flagOption("Print new events as they happen"))
      .option("json", flagOption("One JSON object per line"))
      .epilogue("DATABASE_URL is tms_owner's login; without it the embedded Postgres is read."),
  handler: async ({ tenant, last, follow, json }) => {
    const count = numberFrom(last, "last", "a number of events");
    await asOwner(async (sql, lost) => {
      const seen = new Set<number>();
      /** False when the reader of standard output is gone. */
      const show = async (found: readonly Event[]) => {
        for (const event of found) {
          const id = Number(event.id);
          seen.add(id);
          if (!(await printLine(json ? JSON.stringify({ ...event, id }) : plain(toText(event)))))
            return false;
        }
        return true;
      };
      if (!follow) {
        const found = await read(sql, tenant, 0, "last", count);
        if (tenant !== undefined && found.length === 0) await requireTenant(sql, tenant);
        await show(found);
        return;
      }
      // Transactions commit out of id order: events up to `edge.id` are complete once every transaction open at that look has ended.
      let edge = await edgeOf(sql);
      let settled = Number(edge.id) - LATECOMERS;
      // Events older than the ones shown must not appear as new.
      for (const { id } of await read(sql, undefined, settled, "first", LATECOMERS))
        if (Number(id) <= Number(edge.id)) seen.add(Number(id));
      if (!(await show(await read(sql, tenant, 0, "last", count)))) return;
      const settle = (id: number) => {
        settled = id;
        for (const one of seen) if (one <= id) seen.delete(one);
      };
      settle(settled);
      let away = false;
      const news = async () => {
        try {
          const next = await edgeOf(sql, edge.xmax);
          const found = await read(sql, tenant, settled, "first", MOST_AT_ONCE, seen);
          away = false;
          if (next.ended && found.length < MOST_AT_ONCE) {
            settle(Number(edge.id));
            edge = next;
          }
          return found;
        } catch (error) {
          if (!isUnreachable(error) || lost()) throw error;
          if (!away) console.error("The database cannot be reached; retrying");
          away = true;
          return [];
        }
      };
      for (;;) {
        const found = await news();
        if (!(await show(found))) return;
        if (found.length < MOST_AT_ONCE) await sleep(1_000);
      }
    });
  },
};
