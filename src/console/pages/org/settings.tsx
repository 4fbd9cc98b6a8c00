import type { CurrentTenant } from "../../../client/api.ts";
import { type Answer, call } from "../../api.ts";
import { pretty } from "../../diff.ts";
import { Loaded, useLoad } from "../../parts/load.tsx";
import { visible } from "../../parts/text.tsx";
import { readSchema, SettingsEditor } from "../settings/editor.tsx";
import type { Schema } from "../settings/schema.ts";
import type { Own } from "./own.ts";

/** The settings of one's own organization: what the schema lets its people write. */
export function OwnSettings({ own }: { own: Own }) {
  const { slug: tenant, current, etag, load } = own;
  const keep = (found: Answer<CurrentTenant>) => {
    load.set(found);
    return { value: found.body.tenant.settings, etag: found.etag };
  };
  const schema = useLoad(`schema ${tenant}`, signal => readSchema({ tenant, signal }));
  return (
    <Loaded of={schema}>
      {({ body: { schema, writable } }) => (
        <>
          <p class="note">
            {writable.length === 0 &&
              "An operator of this deployment changes the settings: none is left to the organization. You can change its name on its first page. "}
            To have the organization deleted, ask an operator: its own people cannot delete it.
          </p>
          {writable.length === 0 ? (
            <section class="panel" aria-label="Settings">
              {Object.keys(current.tenant.settings).length === 0 ? (
                <p class="dim">No setting has a value.</p>
              ) : (
                <pre>{visible(pretty(current.tenant.settings))}</pre>
              )}
            </section>
          ) : (
            <SettingsEditor
              of={tenant}
              now={{ value: current.tenant.settings, etag }}
              schema={schema as Schema | null}
              writable={writable}
              save={async (patch, whole, etag) => {
                const headers = etag ? { "If-Match": etag } : {};
                const body = { settings: patch ?? whole };
                return keep(await call("patchCurrentTenant", { body, headers }, { tenant }));
              }}
              read={async () => keep(await call("getCurrentTenant", undefined, { tenant }))}
            />
          )}
        </>
      )}
    </Loaded>
  );
}
