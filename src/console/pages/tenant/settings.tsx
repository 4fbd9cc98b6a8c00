import type { TenantDetails } from "../../../client/api.ts";
import { type Answer, call } from "../../api.ts";
import { Loaded, useLoad } from "../../parts/load.tsx";
import { readSchema, SettingsEditor } from "../settings/editor.tsx";
import type { Schema } from "../settings/schema.ts";
import { Deletion } from "./deletion.tsx";
import type { Open } from "./open.ts";

/** Settings, and at their end what cannot be undone. */
export function TenantSettings({ load, answer }: { load: Open; answer: Answer<TenantDetails> }) {
  const params = { tenant_id: answer.body.tenant_id };
  const schema = useLoad("schema", signal => readSchema({ signal }));
  const keep = (found: typeof answer) => {
    load.set(found);
    return settingsIn(found);
  };
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
              return keep(await call("updateTenant", { params, headers, body: { settings } }));
            }}
            read={async () => keep(await call("getTenant", { params }))}
          />
        )}
      </Loaded>
      <Deletion key={answer.body.status} load={load} tenant={answer.body} />
    </>
  );
}

const settingsIn = ({ body, etag }: Answer<TenantDetails>) => ({ value: body.settings, etag });
