import type { Key } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { useAction } from "../../parts/action.ts";
import { Cancel } from "../../parts/dialog.tsx";
import { Dialog, Field, Form, TextField } from "../../parts/form.tsx";
import { Name, say } from "../../parts/text.tsx";
import { RoleChoice } from "../members/choice.tsx";
import type { Own } from "./own.ts";

/** No key makes keys. */
const MAY = {
  member: "works with what the organization has",
  admin: "also manages members, invitations and any settings that are left to the organization, but no keys",
};

export function Make({
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
        <RoleChoice roles={["member", "admin"]} may={MAY} first="member" />
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

export function Revoke({ own, of, close, done }: { own: Own; of: Key; close: () => void; done: () => void }) {
  const action = useAction(() => {
    say(`The key ${of.name} is revoked already`);
    done();
  });
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
