import type { Member } from "../../../client/api.ts";
import { aRole } from "../../me.ts";
import { useAction } from "../../parts/action.ts";
import { Cancel } from "../../parts/dialog.tsx";
import { Dialog, Form, TextField } from "../../parts/form.tsx";
import { say } from "../../parts/text.tsx";
import { RoleChoice } from "./choice.tsx";
import { type AddBody, type Asking, nameOf } from "./of.ts";

export function Add({ of, close, again, done }: Asking & { done: (member: Member) => void }) {
  const action = useAction(again);
  const add = ({ role, ...texts }: Record<string, string>) =>
    action.run(async () => {
      const given = Object.fromEntries(Object.entries(texts).filter(([, text]) => text.trim() !== ""));
      const { body } = await of.add({ ...given, role } as unknown as AddBody);
      say(`${nameOf(body)} is ${aRole(body.role)} now`);
      done(body);
    });
  return (
    <Dialog title="Add a member" onClose={close}>
      <Form action={action} submit="Add" onSubmit={add} beside={<Cancel />}>
        <p class="dim">
          For somebody whose <i>subject</i> you know: the name that your identity provider gives to one
          account. Everybody else gets an <a href={of.invitations}>invitation</a>, by a link.
        </p>
        <TextField
          label="Subject"
          name="auth_subject"
          required
          maxLength={255}
          hint="The claim “sub” of their token, such as auth0|65f2…"
        />
        <TextField
          label="Provider"
          name="auth_provider"
          maxLength={255}
          hint="Who signs their token: its claim “iss”. Empty: the same as yours."
        />
        <TextField label="E-mail" name="email" type="email" />
        <TextField label="Name" name="display_name" maxLength={255} />
        <RoleChoice roles={of.roles} first="member" />
      </Form>
    </Dialog>
  );
}
