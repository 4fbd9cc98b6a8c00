import { useEffect, useState } from "preact/hooks";
import type { Event, EventPage, Member } from "../../../client/api.ts";
import { requestOf } from "../../../client/client.ts";
import { type Answer, call } from "../../api.ts";
import { Failure } from "../../parts/failure.tsx";
import { type List, More, Rows, useList } from "../../parts/list.tsx";
import { useLoad } from "../../parts/load.tsx";
import { dayOf } from "../../parts/time.ts";
import { follow, type State } from "../../stream.ts";
import { type MembersOf, nameOf } from "../members/of.ts";
import { One } from "./one.tsx";
import type { Names } from "./words.tsx";

/** A feed of events: an operator's, or an organization's own. */
interface Feed {
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
function useNames({ key, members }: Pick<Feed, "key" | "members">): Names | undefined {
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
