import type { Tenant, TenantStatus } from "../../client/api.ts";
import { call } from "../api.ts";
import { whyOf } from "../finding.ts";
import { SelectField, TextField, useTyped } from "../parts/form.tsx";
import { More, Rows, useList } from "../parts/list.tsx";
import { Table } from "../parts/table.tsx";
import { Badge, Copy, Name, Time, Title } from "../parts/text.tsx";
import { path, replace, route } from "../router.ts";
import { useStore } from "../store.ts";

const STATUSES = [
  ["", "All but deleted"],
  ["active", "Active"],
  ["pending", "Waiting for approval"],
  ["suspended", "Suspended"],
  ["deleted", "Deleted, may be restored"],
] as const;

const ORDERS = [
  ["-created_at", "Newest first"],
  ["created_at", "Oldest first"],
  ["name", "Name, A to Z"],
  ["-name", "Name, Z to A"],
] as const;
type Order = (typeof ORDERS)[number][0];

export function Tenants() {
  const { query } = useStore(route);
  const [search, status, order] = ["search", "status", "order"].map(name => query.get(name) ?? "") as [
    string,
    string,
    string,
  ];
  const filter = (more: Record<string, string>) =>
    replace(path(["tenants"], { search, status, order, ...more }));
  const [text, setText] = useTyped(search, typed => filter({ search: typed }));
  const list = useList<Tenant>(`tenants ${search} ${status} ${order}`, async (cursor, signal) => {
    const answer = await call(
      "listTenants",
      {
        query: {
          limit: 100,
          ...(search && { search }),
          ...(status && { status: status as TenantStatus }),
          ...(order && { order: order as Order }),
          ...(cursor && { cursor }),
        },
      },
      { signal },
    );
    return { ...answer, body: { items: answer.body.tenants, total: answer.body.total_count } };
  });
  const why = whyOf(search);
  return (
    <>
      <div class="head">
        <div>
          <Title id="tenants">Tenants</Title>
          <p class="lead">
            The organizations of this deployment. A <i>slug</i> is the short name in requests (X-Tenant).
          </p>
        </div>
        <a class="button primary" href={path(["tenants", "new"])}>
          New tenant
        </a>
      </div>
      <div class="filters">
        <TextField
          label="Search"
          name="search"
          type="search"
          placeholder="A part of the name or slug"
          value={text}
          onInput={setText}
        />
        <SelectField
          label="Status"
          name="status"
          value={status}
          options={STATUSES}
          onChange={value => filter({ status: value })}
        />
        <SelectField
          label="Order"
          name="order"
          value={order || "-created_at"}
          options={ORDERS}
          onChange={value => filter({ order: value })}
        />
      </div>
      <div class="panel flush">
        <Rows
          list={list}
          empty={
            <p>
              {search || status ? "No tenant matches." : "There is no tenant yet."}{" "}
              {why && (
                <a href={why}>
                  Why is <Name>{search.trim()}</Name> refused?
                </a>
              )}
            </p>
          }
        >
          {items => (
            <Table
              label="Tenants"
              brief
              rows={items}
              keyOf={({ tenant_id }) => tenant_id}
              columns={[
                [
                  "Name",
                  ({ tenant_id, name }) => (
                    <a class="row" href={path(["tenant", tenant_id])}>
                      <Name>{name}</Name>
                    </a>
                  ),
                ],
                ["Slug", ({ slug }) => <Copy label="slug">{slug}</Copy>],
                ["Status", ({ status }) => <Badge>{status}</Badge>, "mark"],
                ["Created", ({ created_at }) => <Time at={created_at} />, "time"],
              ]}
            />
          )}
        </Rows>
        <More list={list} one="tenant" />
      </div>
    </>
  );
}
