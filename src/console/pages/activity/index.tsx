import { call } from "../../api.ts";
import { SelectField, TextField, useTyped } from "../../parts/form.tsx";
import { Loaded, useLoad } from "../../parts/load.tsx";
import { Title, visible } from "../../parts/text.tsx";
import { path, replace, route } from "../../router.ts";
import { useStore } from "../../store.ts";
import { Events } from "./events.tsx";
import { TYPES } from "./words.tsx";

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
          placeholder="Its whole slug, such as acme"
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
                No tenant has the slug <code>{visible(slug)}</code>.
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
