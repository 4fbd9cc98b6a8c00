import { useState } from "preact/hooks";
import type { Key } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { Cancel } from "../../parts/dialog.tsx";
import { Dialog, Field, Form, SelectField, TextField } from "../../parts/form.tsx";
import { More, Rows, useAction, useList } from "../../parts/load.tsx";
import { Table } from "../../parts/table.tsx";
import { Badge, Copy, Name, say, Time, visible } from "../../parts/text.tsx";
import type { Own } from "./own.ts";

/** No key makes keys. */
const ROLES = [
  ["member", "member: works with what the organization has"],
  ["admin", "admin: manages members, invitations and settings, too, but no keys"],
] as const;

export function Keys({ own }: { own: Own }) {
  const { slug: tenant } = own;
  const list = useList<Key>(`keys ${tenant}`, async (cursor, signal) => {
    const query = { limit: 100, ...(cursor && { cursor }) };
    const answer = await call("listKeys", { query }, { tenant, signal });
    return { ...answer, body: { items: answer.body.keys } };
  });
  const [open, setOpen] = useState<"make" | Key | null>(null);
  const [secret, setSecret] = useState<{ of: string; key: string } | null>(null);
  return (
    <>
      <div class="head">
        <p class="lead">
          For programs. A key acts in this organization only, with its role, and outlives who made it.
        </p>
        <button type="button" class="primary" onClick={() => setOpen("make")}>
          Make a key
        </button>
      </div>
      {secret && (
        <div class="note good stack">
          <p>Keep this key now: it is shown this once. Programs send it as a bearer token.</p>
          <Copy label="key">{secret.key}</Copy>
          <div class="buttons">
            <button type="button" onClick={() => setSecret(null)}>
              I have it
            </button>
          </div>
        </div>
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

function Make({
  own,
  close,
  done,
}: {
  own: Own;
  close: () => void;
  done: (key: Key, secret: string) => void;
}) {
  const action = useAction();
  const make = ({ name = "", role = "member", ends = "" }: Record<string, string>) =>
    action.run(async () => {
      const body = {
        name,
        role: role as Key["role"],
        ...(ends && { expires_at: new Date(ends).toISOString() }),
      };
      const { body: made } = await call("createKey", { body }, { tenant: own.slug });
      const { key, ...rest } = made;
      done(rest, key);
      say(`The key ${name} is made`);
    });
  return (
    <Dialog title="Make a key" onClose={close}>
      <Form action={action} submit="Make the key" onSubmit={make} beside={<Cancel />}>
        <TextField
          label="Name"
          name="name"
          required
          maxLength={255}
          hint="What uses it, such as “nightly export”."
        />
        <SelectField label="Role" name="role" value="member" options={ROLES} />
        <Field
          label="Ends"
          name="expires_at"
          hint="Optional. Without it the key works until somebody revokes it."
        >
          {ids => <input {...ids} name="ends" type="datetime-local" />}
        </Field>
      </Form>
    </Dialog>
  );
}

function Revoke({ own, of, close, done }: { own: Own; of: Key; close: () => void; done: () => void }) {
  const action = useAction(done);
  const revoke = () =>
    action.run(async () => {
      await call("revokeKey", { params: { key_id: of.key_id } }, { tenant: own.slug });
      say(`The key ${of.name} is revoked`);
      done();
    });
  return (
    <Dialog
      title={
        <>
          Revoke <Name>{of.name}</Name>?
        </>
      }
      onClose={close}
    >
      <Form action={action} submit="Revoke" danger onSubmit={revoke} beside={<Cancel />}>
        <p>Programs that use it are refused from the next request on.</p>
      </Form>
    </Dialog>
  );
}
