import { useState } from "preact/hooks";
import type { CreatedInvitation, Invitation, MemberRole } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { Dialog, Form, SelectField, TextField } from "../../parts/form.tsx";
import { Failure, More, Rows, useAction, useList } from "../../parts/load.tsx";
import { Table } from "../../parts/table.tsx";
import { Badge, Copy, Name, say, Time } from "../../parts/text.tsx";
import { ROLES } from "../members/of.ts";
import type { Own } from "./own.ts";

const DAYS = [
  ["1", "a day"],
  ["7", "7 days"],
  ["30", "30 days"],
] as const;

export const rolesOf = ({ current }: Own): readonly MemberRole[] =>
  current.membership.role === "owner" ? ["member", "admin", "owner"] : ["member", "admin"];

export function Invitations({ own }: { own: Own }) {
  const { slug: tenant } = own;
  const list = useList<Invitation>(`invitations ${tenant}`, async (_cursor, signal) => {
    const answer = await call("listInvitations", {}, { tenant, signal });
    return { ...answer, body: { items: answer.body.invitations } };
  });
  const [inviting, setInviting] = useState(false);
  const [link, setLink] = useState<string | null>(null);
  const action = useAction();
  const revoke = (invitation_id: string) =>
    action.run(async () => {
      await call("revokeInvitation", { params: { invitation_id } }, { tenant });
      list.change(items => items.filter(one => one.invitation_id !== invitation_id));
      say("The invitation is revoked");
    });
  return (
    <>
      <div class="head">
        <p class="lead">Open invitations. Each lets in one person, once.</p>
        <button type="button" class="primary" onClick={() => setInviting(true)}>
          Invite somebody
        </button>
      </div>
      {link && (
        <div class="note good stack">
          <p>Send this link to the person you invite. It is shown this once; the service sends no mail.</p>
          <Copy label="link">{link}</Copy>
        </div>
      )}
      {action.error !== undefined && <Failure error={action.error} />}
      <div class="panel flush">
        <Rows list={list} empty={<p>No invitation is open.</p>}>
          {items => (
            <Table
              label="Invitations"
              rows={items}
              keyOf={({ invitation_id }) => invitation_id}
              columns={[
                [
                  "For",
                  ({ email }) =>
                    email ? <Name>{email}</Name> : <span class="dim">anybody with the link</span>,
                ],
                ["Role", ({ role }) => <Badge>{role}</Badge>, "tight"],
                ["Made", ({ created_at }) => <Time at={created_at} />, "tight"],
                ["Ends", ({ expires_at }) => <Time at={expires_at} />, "tight"],
                [
                  "Actions",
                  ({ invitation_id, email }) => (
                    <button type="button" disabled={action.busy} onClick={() => revoke(invitation_id)}>
                      Revoke<span class="unseen"> the invitation for {email ?? "anybody"}</span>
                    </button>
                  ),
                  "tight",
                ],
              ]}
            />
          )}
        </Rows>
        <More list={list} one="invitation" />
      </div>
      {inviting && (
        <Invite
          own={own}
          close={() => setInviting(false)}
          done={(invitation, link) => {
            list.change(items => [invitation, ...items]);
            setLink(link);
            setInviting(false);
          }}
        />
      )}
    </>
  );
}

/** What it says of the organization is for the person's eyes: the service asks the token alone. */
function linkOf({ token, role, accept_url }: CreatedInvitation, { current, here }: Own): string {
  const says = new URLSearchParams({ to: current.tenant.name, as: role, by: here.me.name });
  const page = new URL(location.pathname, location.origin).href;
  return accept_url ?? `${page}#/invitation/${token}?${says.toString()}`;
}

function Invite({
  own,
  close,
  done,
}: {
  own: Own;
  close: () => void;
  done: (invitation: Invitation, link: string) => void;
}) {
  const action = useAction();
  const invite = ({ role = "member", email = "", days = "7" }: Record<string, string>) =>
    action.run(async () => {
      const body = {
        role: role as MemberRole,
        expires_in: Number(days) * 86_400,
        ...(email.trim() && { email: email.trim() }),
      };
      const { body: made } = await call("createInvitation", { body }, { tenant: own.slug });
      done(made, linkOf(made, own));
      say("The invitation is made");
    });
  return (
    <Dialog title="Invite somebody" onClose={close}>
      <Form action={action} submit="Make the link" onSubmit={invite}>
        <TextField
          label="E-mail"
          name="email"
          type="email"
          hint="Optional. With it only a person whose sign-in has this address can accept."
        />
        <SelectField
          label="Role"
          name="role"
          value="member"
          options={ROLES.filter(([role]) => rolesOf(own).includes(role))}
        />
        <SelectField label="Open for" name="days" value="7" options={DAYS} />
      </Form>
    </Dialog>
  );
}
