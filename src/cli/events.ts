import { setTimeout as sleep } from "node:timers/promises";
import type postgres from "postgres";
import type { CommandModule } from "yargs";
import { isUnreachable } from "../connection.ts";
import { plain } from "../plain.ts";
import { StartupError } from "../startup-error.ts";
import { flagOption, textOption } from "./options.ts";
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

/** Transactions end in another order than their numbers: so far behind the newest one we still look for latecomers. */
const LATECOMERS = 1_000;
const MOST_AT_ONCE = 2 * LATECOMERS;

/** The first or the last ones after an id, in the order of id. `slug` finds the tenant's events under its other slugs too. */
const read = (
  sql: postgres.Sql,
  slug: string | undefined,
  after: number,
  which: "first" | "last",
  limit: number,
) =>
  sql<Event[]>`
    select * from (
      select id, app.iso_time(at) as at, event, tenant_id, slug, name, to_json(changed) as changed,
        case when actor_subject is not null then json_build_object('provider', actor_provider, 'subject', actor_subject) end as actor, login
      from control.tenant_events
      where id > ${after}
        and (${slug ?? null}::text is null
          or tenant_id in (select tenant_id from control.tenant_events where slug = ${slug ?? null}))
      order by id ${which === "first" ? sql`` : sql`desc`} limit ${limit}) found
    order by id`;

const toText = ({ at, event, slug, name, changed, actor, login }: Event) =>
  `${at.slice(0, 19)}Z  ${event.padEnd(10)}  ${slug} (${name})${changed ? ` ${changed.join(", ")}` : ""}  by ${
    actor ? `${actor.subject} of ${actor.provider}` : `the login ${login}`
  }`;

function countFrom(last: string): number {
  if (!/^[1-9]\d{0,8}$/.test(last))
    throw new StartupError(`--last takes a number of events, and not ${JSON.stringify(last)}`);
  return Number(last);
}

export const events: CommandModule<object, Arguments> = {
  command: "events",
  describe: "Show what happened to tenants, when and by whom",
  builder: yargs =>
    yargs
      .option("tenant", textOption("Slug of one tenant, also a former one"))
      .option("last", { ...textOption("How many of the newest"), default: "100" })
      .option("follow", flagOption("Go on with what happens from now on"))
      .option("json", flagOption("One JSON object a line"))
      .epilogue("DATABASE_URL is tms_owner's login; without it the embedded Postgres is read."),
  handler: async ({ tenant, last, follow, json }) => {
    const count = countFrom(last);
    await asOwner(async (sql, lost) => {
      const seen = new Set<number>();
      let newest = 0;
      /** false: nobody reads on. */
      const show = async (found: readonly Event[]) => {
        for (const event of found) {
          const id = Number(event.id);
          if (seen.has(id)) continue;
          seen.add(id);
          newest = Math.max(newest, id);
          if (!(await printLine(json ? JSON.stringify({ ...event, id }) : plain(toText(event)))))
            return false;
        }
        for (const id of seen) if (id <= newest - LATECOMERS) seen.delete(id);
        return true;
      };
      if (!follow) {
        await show(await read(sql, tenant, 0, "last", count));
        return;
      }
      // What is older than what is shown must not appear as news.
      const [top] = await sql<{ id: string }[]>`select coalesce(max(id), 0) as id from control.tenant_events`;
      for (const { id } of await read(sql, undefined, Number(top!.id) - LATECOMERS, "last", LATECOMERS))
        seen.add(Number(id));
      newest = Number(top!.id);
      for (const event of await read(sql, tenant, 0, "last", count)) {
        seen.delete(Number(event.id));
        if (!(await show([event]))) return;
      }
      let away = false;
      const news = async () => {
        try {
          const found = await read(sql, tenant, newest - LATECOMERS, "first", MOST_AT_ONCE);
          away = false;
          return found;
        } catch (error) {
          if (!isUnreachable(error) || lost()) throw error;
          if (!away) console.error("The database cannot be reached; going on when it is back");
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
