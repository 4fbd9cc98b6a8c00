import type { TenantDetails } from "../../../client/api.ts";
import { type Answer, call } from "../../api.ts";
import { Loaded, useLoad } from "../../parts/load.tsx";
import { readSchema, SettingsEditor, settingsIn } from "../settings/editor.tsx";
import type { Schema } from "../settings/schema.ts";
import { Deletion } from "./deletion.tsx";
import type { Open } from "./open.ts";

/** Settings, and at their end what cannot be undone. */
export function TenantSettings({ load, answer }: { load: Open; answer: Answer<TenantDetails> }) {
  const params = { tenant_id: answer.body.tenant_id };
  const schema = useLoad("schema", signal => readSchema({ signal }));
  return (
    <>
      <Loaded of={schema}>
        {({ body: { schema } }) => (
          <SettingsEditor
            of={params.tenant_id}
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
      <Deletion key={answer.body.status} load={load} tenant={answer.body} />
    </>
  );
}
