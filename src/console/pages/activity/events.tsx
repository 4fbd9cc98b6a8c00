import { useEffect, useState } from "preact/hooks";
import type { Event, EventPage, Member } from "../../../client/api.ts";
import { requestOf } from "../../../client/client.ts";
import { type Answer, call } from "../../api.ts";
import { Failure, type List, More, Rows, useList, useLoad } from "../../parts/load.tsx";
import { Copy, Name, Time } from "../../parts/text.tsx";
import { dayOf } from "../../parts/time.ts";
import { follow, type State } from "../../stream.ts";
import { type MembersOf, membersByOperator, nameOf } from "../members/of.ts";
import { isEnd, type Names, Sentence } from "./words.tsx";

/** A feed of events: an operator's, or an organization's own. */
export interface Feed {
  key: string;
  operation: "listEvents" | "listTenantEvents";
  query: Record<string, string>;
  tenant?: string;
  /** The members of the one tenant that it is about. */
  members?: MembersOf["list"];
}

const MOST = 1_000;

/** The newest first, and each new one as it happens. */
function useEvents({ operation, query, tenant, key }: Feed) {
  const options = tenant === undefined ? {} : { tenant };
  const [newest, setNewest] = useState<string | null>(null);
  const list = useList<Event>(key, async (after, signal) => {
    const more = { limit: 100, order: "-at" as const, ...(after && { after }) };
    const answer: Answer<EventPage> = await call(
      operation,
      { query: { ...query, ...more } },
      { ...options, signal },
    );
    if (!after) setNewest(answer.body.cursor);
    return { ...answer, body: { items: answer.body.events } };
  });
  const [state, setState] = useState<State>("reconnecting");
  const [failed, setFailed] = useState<unknown>(undefined);
  const [fresh, setFresh] = useState<Event[]>([]);
  useEffect(() => {
    setFresh([]);
    setFailed(undefined);
    if (newest === null) return;
    const abort = new AbortController();
    follow(
      after => requestOf(operation, { query: { ...query, after } }),
      newest,
      data => setFresh(before => [JSON.parse(data) as Event, ...before].slice(0, MOST)),
      setState,
      { ...options, signal: abort.signal },
    ).catch(setFailed);
    return () => abort.abort();
  }, [newest, key]);
  const shown: List<Event> = { ...list, items: [...fresh, ...list.items] };
  return { shown, state, failed };
}

export const namesOf = (members: Member[]): Names =>
  new Map(members.map(member => [member.user_id, nameOf(member)]));

/** What members are called; undefined for a feed of all tenants, and as long as nobody knows. */
export function useNames({ key, members }: Pick<Feed, "key" | "members">): Names | undefined {
  const load = useLoad<Names | null>(`names ${members ? key : ""}`, async signal => {
    const answer = await members?.(undefined, signal);
    if (!answer || answer.next) return null; // of a large tenant: those that are known would look like all
    return namesOf(answer.body.members);
  });
  return load.value ?? undefined;
}

export function Events({ feed, tenants = true }: { feed: Feed; tenants?: boolean }) {
  const { shown, state, failed } = useEvents(feed);
  const names = useNames(feed);
  return (
    <>
      <p class="live dim" role="status">
        <i class={failed === undefined && state === "live" ? "dot on" : "dot"} />
        {failed !== undefined
          ? "Not live."
          : state === "live"
            ? "Live: new events appear by themselves."
            : "Connecting…"}
      </p>
      {failed !== undefined && <Failure error={failed} />}
      <div class="panel flush">
        <Rows list={shown} empty={<p>Nothing has happened yet.</p>}>
          {items => <Days items={items} tenants={tenants} names={names} members={feed.members} />}
        </Rows>
        <More list={shown} one="event" />
      </div>
    </>
  );
}

function Days({ items, ...rest }: { items: Event[] } & Omit<Parameters<typeof One>[0], "event">) {
  const days = new Map<string, Event[]>();
  for (const event of items) {
    const day = dayOf(event.at, Date.now());
    const found = days.get(day);
    if (found) found.push(event);
    else days.set(day, [event]);
  }
  return [...days].map(([day, events]) => (
    <section key={day} class="day" aria-label={day}>
      <h2>{day}</h2>
      <ol class="events">
        {events.map(event => (
          <One key={event.cursor} event={event} {...rest} />
        ))}
      </ol>
    </section>
  ));
}

export function One({
  event,
  tenants,
  names,
  members,
}: {
  event: Event;
  tenants: boolean;
  names?: Names | undefined;
  members?: MembersOf["list"] | undefined;
}) {
  const { target_id, request_id, type, at, changed, tenant_id } = event;
  const [open, setOpen] = useState(false);
  const list = members ?? (tenants ? membersByOperator(tenant_id, "").list : undefined);
  return (
    <li class={isEnd(type) ? "end" : ""}>
      <Sentence event={event} tenants={tenants} {...(names && { names })} />
      <Time at={at} />
      <details
        class="small"
        onToggle={toggled => setOpen((toggled.currentTarget as HTMLDetailsElement).open)}
      >
        <summary>
          More<span class="unseen"> of this event</span>
        </summary>
        <dl class="facts">
          <dt>Type</dt>
          <dd>
            <code>{type}</code>
          </dd>
          {changed?.length ? (
            <>
              <dt>Changed</dt>
              <dd>{changed.join(", ")}</dd>
            </>
          ) : null}
          {target_id && (
            <>
              <dt>On</dt>
              <dd>
                {open && list && type.startsWith("member.") && <Who list={list} user_id={target_id} />}
                <Copy label="id">{target_id}</Copy>
              </dd>
            </>
          )}
          {request_id && (
            <>
              <dt>Request</dt>
              <dd>
                <Copy label="request id">{request_id}</Copy>
              </dd>
            </>
          )}
        </dl>
      </details>
    </li>
  );
}

/** Read when somebody wants to know: a feed of all tenants has members of each, a large tenant has many. */
function Who({ list, user_id }: { list: MembersOf["list"]; user_id: string }) {
  const load = useLoad(
    `member ${user_id}`,
    async signal => (await list(undefined, signal, user_id)).body.members,
  );
  const found = load.value?.[0];
  if (!load.value) return null;
  return <p>{found ? <Name>{nameOf(found)}</Name> : <span class="dim">a former member</span>}</p>;
}
