import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Event, EventPage } from "../../client/api.ts";
import { type Answer, addressOf, call } from "../api.ts";
import { SelectField, TextField, useTyped } from "../parts/form.tsx";
import { Failure, Loaded, More, Rows, useList, useLoad } from "../parts/load.tsx";
import { Table } from "../parts/table.tsx";
import { Copy, Name, Time, Title } from "../parts/text.tsx";
import { path, replace, route } from "../router.ts";

import { useStore } from "../store.ts";
import { follow, type State } from "../stream.ts";

/** What happened, in words. */
const WORDS: Record<string, string> = {
  "tenant.created": "tenant created",
  "tenant.registered": "tenant registered",
  "tenant.imported": "tenant imported",
  "tenant.replaced": "data replaced by an import",
  "tenant.approved": "registration approved",
  "tenant.rejected": "registration rejected",
  "tenant.suspended": "tenant suspended",
  "tenant.resumed": "tenant resumed",
  "tenant.updated": "tenant changed",
  "tenant.deletion_scheduled": "tenant deleted, may be restored",
  "tenant.restored": "tenant restored",
  "tenant.deleted": "tenant deleted for good",
  "member.added": "member added",
  "member.joined": "member joined",
  "member.role_changed": "role changed",
  "member.removed": "member removed",
  "member.left": "member left",
  "invitation.created": "invitation made",
  "invitation.accepted": "invitation accepted",
  "invitation.revoked": "invitation revoked",
  "key.created": "key made",
  "key.revoked": "key revoked",
};
const TYPES = [["", "Everything"], ...Object.entries(WORDS)] as (readonly [string, string])[];
const BAD = /rejected|suspended|deleted|deletion|removed|revoked/;

/** A feed of events: an operator's, or an organization's own. */
export interface Feed {
  key: string;
  operation: "listEvents" | "listTenantEvents";
  query: Record<string, string>;
  tenant?: string;
}

const MOST = 1_000;

export function Events({ feed, columns = true }: { feed: Feed; columns?: boolean }) {
  const { operation, query, tenant } = feed;
  const options = tenant === undefined ? {} : { tenant };
  const [newest, setNewest] = useState<string | null>(null);
  const list = useList<Event>(feed.key, async (after, signal) => {
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
      after => addressOf(operation, {}, { ...query, after }),
      newest,
      data => setFresh(before => [JSON.parse(data) as Event, ...before].slice(0, MOST)),
      setState,
      { ...options, signal: abort.signal },
    ).catch(setFailed);
    return () => abort.abort();
  }, [newest, feed.key]);
  const shown = { ...list, items: [...fresh, ...list.items] };
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
          {items => (
            <Table
              label="Events"
              rows={items}
              keyOf={({ cursor }) => cursor}
              columns={[
                ["What", ({ type }) => <What type={type} />],
                ...(columns
                  ? ([
                      [
                        "Tenant",
                        ({ tenant_id, tenant_name, tenant_slug }: Event) => (
                          <a class="row" href={path(["tenant", tenant_id])}>
                            <Name>{tenant_name}</Name> <code class="dim">{tenant_slug}</code>
                          </a>
                        ),
                      ],
                    ] as const)
                  : []),
                ["By", ({ actor }) => <By actor={actor} />],
                ["Details", event => <Details event={event} />],
                ["When", ({ at }) => <Time at={at} />, "tight"],
              ]}
            />
          )}
        </Rows>
        <More list={shown} one="event" />
      </div>
    </>
  );
}

const What = ({ type }: { type: string }) => (
  <span class={`badge ${BAD.test(type) ? "bad" : type.startsWith("tenant.") ? "good" : "info"}`} title={type}>
    {WORDS[type] ?? type}
  </span>
);

const By = ({ actor }: { actor: Event["actor"] }) =>
  actor ? (
    <span title={actor.auth_provider}>
      <Name>{actor.auth_subject}</Name>
      {actor.auth_provider === "key" && <span class="dim"> (a key)</span>}
    </span>
  ) : (
    <span class="dim">in the database</span>
  );

function Details({ event }: { event: Event }): ComponentChildren {
  const { reason, changed, target_id, request_id } = event;
  return (
    <details class="small">
      <summary>
        {reason ? (
          <Name>{reason}</Name>
        ) : changed?.length ? (
          changed.join(", ")
        ) : (
          <span class="dim">more</span>
        )}
      </summary>
      <dl class="facts">
        {target_id && (
          <>
            <dt>On</dt>
            <dd>
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
        <dt>Type</dt>
        <dd>
          <code>{event.type}</code>
        </dd>
      </dl>
    </details>
  );
}

/** The activity of all tenants, with filters. */
export function Activity() {
  const { query } = useStore(route);
  const [type, slug] = [query.get("type") ?? "", query.get("tenant") ?? ""];
  const filter = (more: Record<string, string>) =>
    replace(path(["activity"], { type, tenant: slug, ...more }));
  const [text, setText] = useTyped(slug, typed => filter({ tenant: typed }));
  const found = useLoad(`activity of ${slug}`, async signal => {
    if (slug === "") return { id: "" };
    const { body } = await call("listTenants", { query: { slug, limit: 1 } }, { signal });
    return { id: body.tenants[0]?.tenant_id };
  });
  return (
    <>
      <div class="head">
        <div>
          <Title id="activity">Activity</Title>
          <p class="lead">What happened to all tenants, newest first: who, what, on whom, why.</p>
        </div>
      </div>
      <div class="filters">
        <TextField
          label="Tenant"
          name="tenant"
          type="search"
          placeholder="Its whole slug"
          value={text}
          onInput={setText}
        />
        <SelectField
          label="What"
          name="type"
          value={type}
          options={TYPES}
          onChange={value => filter({ type: value })}
        />
      </div>
      <Loaded of={found}>
        {({ id }) =>
          id === undefined ? (
            <div class="empty">
              <p>
                No tenant has the slug <code>{slug}</code>.
              </p>
            </div>
          ) : (
            <Events
              feed={{
                key: `events ${type} ${id}`,
                operation: "listEvents",
                query: { ...(type && { type }), ...(id && { tenant_id: id }) },
              }}
            />
          )
        }
      </Loaded>
    </>
  );
}
