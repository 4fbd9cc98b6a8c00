import type { ComponentChildren } from "preact";
import type { TenantDetails } from "../../../client/api.ts";
import { type Answer, call } from "../../api.ts";
import { Loaded, useLoad } from "../../parts/load.tsx";
import { Badge, Copy, Name, Title } from "../../parts/text.tsx";
import { path } from "../../router.ts";
import { Events } from "../activity.tsx";
import { Members } from "../members/index.tsx";
import { membersByOperator } from "../members/of.ts";
import type { Schema } from "../schema-form.tsx";
import { readSchema, SettingsEditor, settingsIn } from "../settings-editor.tsx";
import { Deletion } from "./deletion.tsx";
import type { Open } from "./open.ts";
import { Overview } from "./overview.tsx";

const TABS = [
  ["", "Overview"],
  ["settings", "Settings"],
  ["members", "Members"],
  ["activity", "Activity"],
  ["delete", "Delete"],
] as const;

/** One tenant, as operators see it. */
export function TenantPage({ id, tab }: { id: string; tab: string }) {
  const load = useLoad(`tenant ${id}`, signal =>
    call("getTenant", { params: { tenant_id: id } }, { signal }),
  );
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
  const { tenant_id, name, slug, status } = answer.body;
  return (
    <>
      <div class="head">
        <div>
          <Title id={tenant_id}>
            <Name>{name}</Name>
          </Title>
          <p class="dim">
            <Copy label="slug">{slug}</Copy> <Badge>{status}</Badge>
          </p>
        </div>
      </div>
      <nav class="tabs" aria-label="Parts of this tenant">
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
      {partOf(load, answer, tab)}
    </>
  );
}

function partOf(load: Open, answer: Answer<TenantDetails>, tab: string): ComponentChildren {
  const { tenant_id } = answer.body;
  if (tab === "members") return <Members of={membersByOperator(tenant_id)} />;
  if (tab === "delete") return <Deletion load={load} answer={answer} />;
  if (tab === "activity")
    return (
      <Events
        feed={{ key: `events of ${tenant_id}`, operation: "listEvents", query: { tenant_id } }}
        columns={false}
      />
    );
  if (tab === "settings") return <Settings load={load} answer={answer} />;
  return <Overview load={load} answer={answer} />;
}

function Settings({ load, answer }: { load: Open; answer: Answer<TenantDetails> }) {
  const params = { tenant_id: answer.body.tenant_id };
  const schema = useLoad("schema", signal => readSchema({ signal }));
  return (
    <Loaded of={schema}>
      {({ body: { schema } }) => (
        <SettingsEditor
          now={settingsIn(answer)}
          schema={schema as Schema | null}
          writable={null}
          save={async (_patch, settings, etag) => {
            const headers = etag ? { "If-Match": etag } : {};
            return settingsIn(await call("updateTenant", { params, headers, body: { settings } }));
          }}
          read={async () => settingsIn(await call("getTenant", { params }))}
          saved={({ value, etag }) =>
            load.set({ ...answer, etag, body: { ...answer.body, settings: value } })
          }
        />
      )}
    </Loaded>
  );
}
