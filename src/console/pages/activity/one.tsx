import { useState } from "preact/hooks";
import type { Event } from "../../../client/api.ts";
import { useLoad } from "../../parts/load.tsx";
import { Copy, Name, Time } from "../../parts/text.tsx";
import { type MembersOf, membersByOperator, nameOf } from "../members/of.ts";
import { isEnd, type Names, Sentence } from "./words.tsx";

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
  const list =
    members ?? (tenants ? membersByOperator({ tenant_id, slug: "", status: "active" }).list : undefined);
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
