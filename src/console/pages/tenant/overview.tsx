import { useEffect } from "preact/hooks";
import type { Event, Member, TenantDetails } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { now } from "../../clock.ts";
import { Dates } from "../../parts/dates.tsx";
import { type Load, Loaded, useLoad } from "../../parts/load.tsx";
import { Copy, Name } from "../../parts/text.tsx";
import { Written } from "../../parts/written.tsx";
import { path } from "../../router.ts";
import { namesOf } from "../activity/events.tsx";
import { One } from "../activity/one.tsx";
import type { Names } from "../activity/words.tsx";
import { nameOf } from "../members/of.ts";

const PATIENCE_MS = 60_000;

export function Overview({ tenant }: { tenant: TenantDetails }) {
  const { tenant_id, members_count, registration, status, updated_at } = tenant;
  const params = { tenant_id };
  const members = useLoad(`first members of ${tenant_id}`, async signal => {
    const { body } = await call("listTenantMembers", { params, query: { limit: 100 } }, { signal });
    return body.members;
  });
  const events = useLastEvents(tenant_id, updated_at, async signal => {
    const query = { tenant_id, order: "-at" as const, limit: 5 };
    return (await call("listEvents", { query }, { signal })).body.events;
  });
  return (
    <div class="columns">
      <div class="stack">
        {members_count === 0 && status !== "deleted" && (
          <p class="note">
            Nobody belongs to it yet.{" "}
            <a href={path(["tenant", tenant_id, "invitations"], { invite: "owner" })}>
              Invite its first owner
            </a>{" "}
            by a link, or <a href={path(["tenant", tenant_id, "members"])}>add somebody</a> whose subject you
            know.
          </p>
        )}
        <Loaded of={events}>
          {found => (
            <LastEvents
              events={found}
              names={
                members.value && members.value.length === members_count ? namesOf(members.value) : undefined
              }
              to={path(["tenant", tenant_id, "activity"])}
            />
          )}
        </Loaded>
        {registration && (
          <section class="panel" aria-label="Registration">
            <h2>Registration</h2>
            <Written>{registration}</Written>
          </section>
        )}
      </div>
      <section class="panel" aria-label="Facts">
        <h2>Facts</h2>
        <dl class="facts tall">
          <dt>Owners</dt>
          <dd>
            <Loaded of={members}>{found => <Owners members={found} all={members_count} />}</Loaded>
          </dd>
          <dt>Id</dt>
          <dd>
            <Copy label="id">{tenant_id}</Copy>
          </dd>
          <Dates tenant={tenant} />
        </dl>
      </section>
    </div>
  );
}

/** Again after each act on the page, that of a change at `updated_at` included. */
export function useLastEvents(
  of: string,
  updated_at: string,
  read: (signal: AbortSignal) => Promise<Event[]>,
): Load<Event[]> {
  const events = useLoad(`last events of ${of} ${updated_at}`, read);
  const newest = events.value?.[0]?.at ?? "";
  useEffect(() => {
    // An event appears a moment after its change: it waits for older transactions of the whole server.
    const age = (now() ?? Date.now()) - Date.parse(updated_at);
    if (events.loading || newest >= updated_at || age > PATIENCE_MS) return;
    // Each wait is as long as all before it: a few reads in the whole minute.
    const timer = setTimeout(events.reload, Math.max(1_000, age));
    return () => clearTimeout(timer);
  }, [events.value, events.loading, updated_at]);
  return events;
}

function Owners({ members, all }: { members: Member[]; all: number }) {
  const owners = members.filter(({ role }) => role === "owner");
  if (owners.length === 0) return <>{members.length < all ? "see the members" : "none"}</>;
  return (
    <>
      {owners.slice(0, 5).map((owner, i) => (
        <span key={owner.user_id}>
          {i > 0 && ", "}
          <Name>{nameOf(owner)}</Name>
        </span>
      ))}
      {owners.length > 5 && `, and ${owners.length - 5} more`}
    </>
  );
}

/** The last things that happened, and where the others are. */
export const LastEvents = ({
  events,
  to,
  names,
}: {
  events: Event[];
  to: string;
  names?: Names | undefined;
}) => (
  <section class="panel flush" aria-label="Last events">
    <div class="head inner">
      <h2>Last events</h2>
      <a href={to}>All activity</a>
    </div>
    {events.length === 0 ? (
      <div class="empty">
        <p>Nothing has happened yet.</p>
      </div>
    ) : (
      <ol class="events">
        {events.map(event => (
          <One key={event.cursor} event={event} tenants={false} names={names} />
        ))}
      </ol>
    )}
  </section>
);
