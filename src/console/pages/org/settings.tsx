import { call } from "../../api.ts";
import type { Schema } from "../schema-form.tsx";
import { SettingsEditor, settingsIn } from "../settings-editor.tsx";
import type { Own } from "./index.tsx";

/** The settings of one's own organization: what the schema lets its people write. */
export function OwnSettings({ own }: { own: Own }) {
  const { slug, current, etag, load } = own;
  const schema: Schema | null = null;
  const writable = writableOf(schema);
  if (writable.length === 0)
    return (
      <>
        <p class="note">
          An operator of this deployment changes the settings. You can change the name of the organization.
        </p>
        <section class="panel" aria-label="Settings">
          <pre>{JSON.stringify(current.tenant.settings, null, 2)}</pre>
        </section>
      </>
    );
  return (
    <SettingsEditor
      now={{ value: current.tenant.settings, etag }}
      schema={schema}
      writable={writable}
      save={async (patch, whole, etag) =>
        settingsIn(
          await call(
            "updateCurrentTenant",
            { body: { settings: patch ?? whole }, headers: etag ? { "If-Match": etag } : {} },
            { tenant: slug },
          ),
        )
      }
      read={async () => {
        const { body, etag } = await call("getCurrentTenant", undefined, { tenant: slug });
        return { value: body.tenant.settings, etag };
      }}
      saved={() => load.reload()}
    />
  );
}

const writableOf = (schema: Schema | null): string[] =>
  Object.entries(schema?.properties ?? {}).flatMap(([key, part]) => (part["x-tenant-writable"] ? [key] : []));
