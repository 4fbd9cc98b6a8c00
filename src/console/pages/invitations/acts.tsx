import type { CreatedInvitation, Invitation, MemberRole } from "../../../client/api.ts";
import { useAction } from "../../parts/action.ts";
import { Cancel } from "../../parts/dialog.tsx";
import { Dialog, Form, SelectField, TextField } from "../../parts/form.tsx";
import { Name, say } from "../../parts/text.tsx";
import { RoleChoice } from "../members/choice.tsx";
import type { InvitationsOf } from "./of.ts";

const DAYS = [
  ["1", "a day"],
  ["7", "7 days"],
  ["30", "30 days"],
] as const;

/** What it says of the organization is for the person's eyes: the service reads the token alone. */
function linkOf({ token, role, accept_url }: CreatedInvitation, { says }: InvitationsOf): string {
  const page = new URL(location.pathname, location.origin).href;
  return (
    accept_url ?? `${page}#/invitation/${token}?${new URLSearchParams({ ...says, as: role }).toString()}`
  );
}

export function Invite({
  of,
  first = "member",
  close,
  done,
}: {
  of: InvitationsOf;
  /** The role that is chosen at first. */
  first?: MemberRole | undefined;
  close: () => void;
  done: (invitation: Invitation, link: string) => void;
}) {
  const action = useAction(of.reload);
  const invite = ({ role = "member", email = "", days = "7" }: Record<string, string>) =>
    action.run(async () => {
      const body = {
        role: role as MemberRole,
        expires_in: Number(days) * 86_400,
        ...(email.trim() && { email: email.trim() }),
      };
      const { body: made } = await of.create(body);
      const { token: _, accept_url: _url, ...invitation } = made;
      done(invitation, linkOf(made, of));
      say("The invitation is made");
    });
  return (
    <Dialog title="Invite somebody" onClose={close}>
      <Form action={action} submit="Make the link" onSubmit={invite} beside={<Cancel />}>
        <TextField
          label="E-mail"
          name="email"
          type="email"
          hint="Optional. With it only a person whose sign-in has this address can accept."
        />
        <RoleChoice roles={of.roles} first={first} />
        <SelectField label="Open for" name="days" value="7" options={DAYS} />
      </Form>
    </Dialog>
  );
}

export function Revoke({
  of,
  invitation: { invitation_id, email, role },
  close,
  done,
}: {
  of: InvitationsOf;
  invitation: Invitation;
  close: () => void;
  done: () => void;
}) {
  const action = useAction(() => {
    say("The invitation has already been used or revoked, or has ended");
    done();
  });
  const revoke = () =>
    action.run(async () => {
      await of.revoke(invitation_id);
      say("The invitation is revoked");
      done();
    });
  return (
    <Dialog title="Revoke this invitation?" onClose={close}>
      <Form action={action} submit="Revoke" danger onSubmit={revoke} beside={<Cancel />}>
        <p>
          Its link, as {role} for {email ? <Name>{email}</Name> : "anybody who has it"}, works no more. You
          can make another one.
        </p>
      </Form>
    </Dialog>
  );
}
