import { useState } from "preact/hooks";
import type { Key } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { More, Rows, useList } from "../../parts/list.tsx";
import { Once } from "../../parts/once.tsx";
import { Table } from "../../parts/table.tsx";
import { Badge, Name, Time, visible } from "../../parts/text.tsx";
import { unlessUnsaved } from "../../router.ts";
import { Make, Revoke } from "./key-acts.tsx";
import type { Own } from "./own.ts";

export function Keys({ own }: { own: Own }) {
  const { slug: tenant } = own;
  const list = useList<Key>(`keys ${tenant}`, async (cursor, signal) => {
    const query = { limit: 100, ...(cursor && { cursor }) };
    const answer = await call("listKeys", { query }, { tenant, signal });
    return { ...answer, body: { items: answer.body.keys } };
  });
  const [open, setOpen] = useState<"make" | Key | null>(null);
  const [secret, setSecret] = useState<{ of: string; key: string } | null>(null);
  const make = () => {
    setSecret(null);
    setOpen("make");
  };
  return (
    <>
      <div class="head">
        <p class="lead">
          For programs. A key acts in this organization only, with its role, and outlives who made it.
        </p>
        <button type="button" class="primary" onClick={() => unlessUnsaved(make)}>
          Make a key
        </button>
      </div>
      {secret && (
        <Once key={secret.of} label="key" value={secret.key} close={() => setSecret(null)}>
          Keep this key now: it is shown this once. Programs send it as a bearer token.
        </Once>
      )}
      <div class="panel flush">
        <Rows list={list} empty={<p>There is no key.</p>}>
          {items => (
            <Table
              label="API keys"
              rows={items}
              keyOf={({ key_id }) => key_id}
              columns={[
                [
                  "Name",
                  ({ name }) => (
                    <b>
                      <Name>{name}</Name>
                    </b>
                  ),
                ],
                ["Role", ({ role }) => <Badge>{role}</Badge>, "mark"],
                ["Made", ({ created_at }) => <Time at={created_at} />, "time"],
                ["Ends", ({ expires_at }) => (expires_at ? <Time at={expires_at} /> : "never"), "time"],
                [
                  "Last used",
                  ({ last_used_at }) =>
                    last_used_at ? <Time at={last_used_at} /> : <span class="dim">not yet</span>,
                  "time",
                ],
                [
                  "Actions",
                  key => (
                    <button type="button" class="quiet" onClick={() => setOpen(key)}>
                      Revoke…<span class="unseen"> {visible(key.name)}</span>
                    </button>
                  ),
                  "act",
                ],
              ]}
            />
          )}
        </Rows>
        <More list={list} one="key" />
      </div>
      {open === "make" && (
        <Make
          own={own}
          close={() => setOpen(null)}
          done={(key, secret) => {
            list.change(items => [key, ...items]);
            setSecret({ of: key.key_id, key: secret });
            setOpen(null);
          }}
        />
      )}
      {open && open !== "make" && (
        <Revoke
          own={own}
          of={open}
          close={() => setOpen(null)}
          done={() => {
            list.change(items => items.filter(({ key_id }) => key_id !== open.key_id));
            if (secret?.of === open.key_id) setSecret(null);
            setOpen(null);
          }}
        />
      )}
    </>
  );
}
