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
  target_id: string | null;
  changed: string[] | null;
  role: string | null;
  role_before: string | null;
  actor: { provider: string; subject: string } | null;
  login: string;
  reason: string | null;
  request_id: string | null;
}

/** A place in the order of events. */
interface Place {
  epoch: number;
  xid: string;
  n: string;
}

const MOST_AT_ONCE = 2_000;
const START: Place = { epoch: 0, xid: "0", n: "0" };

/** The last event before which none can appear any more: app.event_page() says why. */
async function edgeOf(sql: postgres.Sql): Promise<Place> {
  const [edge] = await sql<[Place?]>`
    select epoch, xid::text, n::text from control.tenant_events e
    where (e.epoch, e.xid, e.n) < (control.event_epoch(), pg_snapshot_xmin(pg_current_snapshot()), 0::bigint)
    order by e.epoch desc, e.xid desc, e.n desc limit 1`;
  return edge ?? START;
}

/** `slug` also finds the tenant's events under its former slugs. `which`: those at the begin of the range, or at its end. */
async function read(
  sql: postgres.Sql,
  slug: string | undefined,
  { after, upTo }: { after?: Place; upTo?: Place },
  which: "first" | "last",
  limit: number,
): Promise<(Event & Place)[]> {
  const place = ({ epoch, xid, n }: Place) => sql`(${epoch}::int, ${xid}::text::xid8, ${n}::text::bigint)`;
  const direction = which === "first" ? sql`` : sql`desc`;
  const found = await sql<(Event & Place)[]>`
    select id, app.iso_time(at) as at, event, tenant_id, slug, name,
      target_id, to_json(changed) as changed, role, role_before,
      case when actor_subject is not null then json_build_object('provider', actor_provider, 'subject', actor_subject) end as actor, login,
      reason, request_id, epoch, xid::text as xid, n::text as n
    from control.tenant_events e
    where ${after ? sql`(e.epoch, e.xid, e.n) > ${place(after)}` : sql`true`}
      and ${upTo ? sql`(e.epoch, e.xid, e.n) <= ${place(upTo)}` : sql`true`}
      and ${
        slug === undefined
          ? sql`true`
          : sql`tenant_id in (select tenant_id from control.tenant_events where slug = ${slug})`
      }
    order by e.epoch ${direction}, e.xid ${direction}, e.n ${direction} limit ${limit}`;
  return which === "first" ? [...found] : [...found].reverse();
}

/** A tenant may have no events, if they were deleted; a slug without a tenant is a typing error. `--follow` may wait for one. */
async function requireTenant(sql: postgres.Sql, slug: string): Promise<void> {
  const found = await sql.begin(async tx => {
    await tx`set local app.maintenance = on`;
    return tx`select from app.tenants where slug = ${slug}`;
  });
  if (found.count === 0)
    throw new StartupError(`There is no tenant with the slug ${slug}, and no event of one`);
}

const toText = ({
  at,
  event,
  slug,
  name,
  target_id,
  changed,
  role,
  role_before,
  actor,
  login,
  reason,
}: Event) =>
  `${at.slice(0, 19)}Z  ${event.padEnd(18)}  ${slug} (${name})${target_id ? ` ${target_id}` : ""}${
    changed ? ` ${changed.join(", ")}` : ""
  }${role_before ? ` from ${role_before}` : ""}${
    role ? ` ${role_before ? "to" : "as"} ${role}` : ""
  }  by ${actor ? `${actor.subject} of ${actor.provider}` : `the login ${login}`}${reason ? `: ${reason}` : ""}`;

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
      /** False when the reader of standard output is gone. */
      const show = async (found: readonly (Event & Place)[]) => {
        for (const { epoch: _, xid: _xid, n: _n, ...event } of found)
          if (
            !(await printLine(
              json ? JSON.stringify({ ...event, id: Number(event.id) }) : plain(toText(event)),
            ))
          )
            return false;
        return true;
      };
      if (!follow) {
        const found = await read(sql, tenant, {}, "last", count);
        if (tenant !== undefined && found.length === 0) await requireTenant(sql, tenant);
        await show(found);
        return;
      }
      let after = await edgeOf(sql);
      if (!(await show(await read(sql, tenant, { upTo: after }, "last", count)))) return;
      let away = false;
      const news = async () => {
        try {
          const upTo = await edgeOf(sql);
          const found = await read(sql, tenant, { after, upTo }, "first", MOST_AT_ONCE);
          after = found.length < MOST_AT_ONCE ? upTo : found.at(-1)!;
          away = false;
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
