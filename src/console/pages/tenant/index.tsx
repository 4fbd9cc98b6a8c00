import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { TenantDetails } from "../../../client/api.ts";
import { type Answer, call } from "../../api.ts";
import { Loaded, useFresh, useLoad } from "../../parts/load.tsx";
import { Menu } from "../../parts/menu.tsx";
import { useCurrentInSight } from "../../parts/sight.ts";
import { Badge, Copy, count, Name, Time, Title } from "../../parts/text.tsx";
import { go, goFromDeleted, path } from "../../router.ts";
import { Events } from "../activity/events.tsx";
import { Invitations } from "../invitations/index.tsx";
import { invitationsByOperator } from "../invitations/of.ts";
import { Members } from "../members/index.tsx";
import { membersByOperator } from "../members/of.ts";
import { NotHere } from "../not-here.tsx";
import { Reject } from "../reject.tsx";
import { Rename, Suspend } from "./acts.tsx";
import type { Open } from "./open.ts";
import { Overview } from "./overview.tsx";
import { TenantSettings } from "./settings.tsx";
import { Status } from "./status.tsx";

const TABS = [
  ["", "Overview"],
  ["members", "Members"],
  ["invitations", "Invitations"],
  ["activity", "Activity"],
  ["settings", "Settings"],
] as const;

/** One tenant, as operators see it. */
export function TenantPage({ id, tab }: { id: string; tab: string }) {
  const load = useLoad(`tenant ${id}`, signal =>
    call("getTenant", { params: { tenant_id: id } }, { signal }),
  );
  useFresh(load.reload, tab);
  if (!TABS.some(([part]) => part === tab)) return <NotHere />;
  return (
    <>
      <p class="crumb">
        <a href="#/tenants">Tenants</a>
      </p>
      <Loaded of={load}>{answer => <Page load={load} answer={answer} tab={tab} />}</Loaded>
    </>
  );
}

function Page({ load, answer, tab }: { load: Open; answer: Answer<TenantDetails>; tab: string }) {
  const tenant = answer.body;
  const { tenant_id, name, slug, status, members_count, created_at } = tenant;
  const [asking, setAsking] = useState<"suspend" | "reject" | "rename" | null>(null);
  const close = () => setAsking(null);
  const tabs = useCurrentInSight(tab);
  return (
    <>
      <div class="head">
        <div>
          <Title id={tenant_id}>
            <Name>{name}</Name>
          </Title>
          <p class="meta">
            <Badge>{status}</Badge> <Copy label="slug">{slug}</Copy>{" "}
            <span>{count(members_count, "member")}</span>
            <span class="unseen">, </span>
            <span>
              created <Time at={created_at} />
            </span>
          </p>
        </div>
        <Menu
          label="Acts on this tenant"
          entries={[
            { label: "Rename…", act: () => setAsking("rename") },
            { label: "Why is somebody refused?", act: () => go(path(["why"], { tenant: slug })) },
            ...(status === "active"
              ? [{ label: "Suspend…", act: () => setAsking("suspend"), danger: true }]
              : []),
            {
              label: status === "deleted" ? "Delete for good…" : "Delete…",
              act: () => go(path(["tenant", tenant_id, "settings"], { act: "delete" })),
              danger: true,
            },
          ]}
        />
      </div>
      <nav class="tabs" ref={tabs} aria-label="Parts of this tenant">
        {TABS.map(([part, label]) => (
          <a
            key={part}
            href={path(["tenant", tenant_id, ...(part ? [part] : [])])}
            aria-current={tab === part ? "page" : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      <Status load={load} tenant={tenant} reject={() => setAsking("reject")} />
      {partOf(load, answer, tab)}
      {asking === "rename" && <Rename load={load} tenant={tenant} etag={answer.etag} close={close} />}
      {asking === "suspend" && <Suspend load={load} tenant={tenant} close={close} />}
      {asking === "reject" && (
        <Reject tenant={tenant} close={close} done={() => goFromDeleted("#/waiting")} />
      )}
    </>
  );
}

function partOf(load: Open, answer: Answer<TenantDetails>, tab: string): ComponentChildren {
  const { tenant_id } = answer.body;
  const members = membersByOperator(answer.body, load.reload);
  if (tab === "members") return <Members of={members} />;
  if (tab === "invitations") return <Invitations of={invitationsByOperator(answer.body, load.reload)} />;
  if (tab === "activity")
    return (
      <Events
        feed={{
          key: `events of ${tenant_id}`,
          operation: "listEvents",
          query: { tenant_id },
          members: members.list,
        }}
        tenants={false}
      />
    );
  if (tab === "settings") return <TenantSettings load={load} answer={answer} />;
  return <Overview tenant={answer.body} />;
}
