import { useState } from "preact/hooks";
import type { Member, MemberRole } from "../../client/api.ts";
import { type Answer, call } from "../api.ts";
import { Dialog, Form, SelectField, TextField } from "../parts/form.tsx";
import { Failure, More, Rows, useAction, useList } from "../parts/load.tsx";
import { Table } from "../parts/table.tsx";
import { Badge, Copy, Name, say, Time } from "../parts/text.tsx";

/** The members of one tenant: by an operator, or by the tenant's own people. */
export interface MembersOf {
  key: string;
  list: (cursor: string | undefined, signal: AbortSignal) => Promise<Answer<{ members: Member[] }>>;
  add: (body: AddBody) => Promise<Answer<Member>>;
  setRole: (user_id: string, role: MemberRole) => Promise<Answer<Member>>;
  remove: (user_id: string) => Promise<unknown>;
  /** Roles that the reader may give and take; none for members. */
  roles: readonly MemberRole[];
  /** The reader's own row. */
  self?: string;
  /** What happens once the reader has left. */
  left?: () => void;
}

export interface AddBody {
  auth_subject: string;
  auth_provider?: string;
  email?: string;
  display_name?: string;
  role: MemberRole;
}

export const ROLES: readonly (readonly [MemberRole, string])[] = [
  ["member", "member"],
  ["admin", "admin: manages members, invitations, keys, settings"],
  ["owner", "owner: an admin who may also make owners"],
];

export function membersByOperator(tenant_id: string): MembersOf {
  return {
    key: tenant_id,
    roles: ["member", "admin", "owner"],
    list: (cursor, signal) =>
      call("listTenantMembers", { params: { tenant_id }, query: page(cursor) }, { signal }),
    add: body => call("addTenantMember", { params: { tenant_id }, body }),
    setRole: (user_id, role) =>
      call("changeTenantMember", { params: { tenant_id, user_id }, body: { role } }),
    remove: user_id => call("removeTenantMember", { params: { tenant_id, user_id } }),
  };
}

export function membersOfMine(tenant: string, { user_id: self, role }: Member, left: () => void): MembersOf {
  const roles = { owner: ["member", "admin", "owner"], admin: ["member", "admin"], member: [] } as const;
  return {
    key: tenant,
    roles: roles[role],
    self,
    left,
    list: (cursor, signal) => call("listMembers", { query: page(cursor) }, { tenant, signal }),
    add: body => call("addMember", { body }, { tenant }),
    setRole: (user_id, role) => call("changeMember", { params: { user_id }, body: { role } }, { tenant }),
    remove: user_id => call("removeMember", { params: { user_id } }, { tenant }),
  };
}

const page = (cursor: string | undefined) => ({ limit: 100, ...(cursor && { cursor }) });

export const nameOf = ({ display_name, email, auth_subject }: Member) =>
  display_name ?? email ?? auth_subject;

export function Members({ of }: { of: MembersOf }) {
  const list = useList<Member>(`members ${of.key}`, async (cursor, signal) => {
    const answer = await of.list(cursor, signal);
    return { ...answer, body: { items: answer.body.members } };
  });
  const [open, setOpen] = useState<"add" | Member | null>(null);
  const action = useAction();
  const manages = of.roles.length > 0;
  const setRole = (member: Member, role: MemberRole) =>
    action.run(async () => {
      const { body } = await of.setRole(member.user_id, role);
      list.change(items => items.map(one => (one.user_id === body.user_id ? body : one)));
      say(`${nameOf(member)} is ${role} now`);
    });
  const mayChange = (member: Member) => manages && of.roles.includes(member.role);
  return (
    <>
      <div class="head">
        <p class="lead">
          {manages
            ? "Who belongs, newest first. A removed member is out with the next request."
            : "Who belongs, newest first."}
        </p>
        {manages && (
          <button type="button" class="primary" onClick={() => setOpen("add")}>
            Add a member
          </button>
        )}
      </div>
      {action.error !== undefined && <Failure error={action.error} />}
      <div class="panel flush">
        <Rows list={list} empty={<p>Nobody belongs here yet.</p>}>
          {items => (
            <Table
              label="Members"
              rows={items}
              keyOf={({ user_id }) => user_id}
              columns={[
                [
                  "Name",
                  member => (
                    <span>
                      <b>
                        <Name>{nameOf(member)}</Name>
                      </b>
                      {member.user_id === of.self && <span class="dim"> (you)</span>}
                      {member.email && member.display_name && (
                        <span class="dim line">
                          <Name>{member.email}</Name>
                        </span>
                      )}
                    </span>
                  ),
                ],
                ["Subject", ({ auth_subject }) => <Copy label="subject">{auth_subject}</Copy>],
                ["Provider", ({ auth_provider }) => <code class="dim">{auth_provider}</code>],
                [
                  "Role",
                  member =>
                    mayChange(member) ? (
                      <select
                        class="small"
                        aria-label={`Role of ${nameOf(member)}`}
                        disabled={action.busy}
                        value={member.role}
                        key={`${member.role}${action.error === undefined}`}
                        onChange={event =>
                          setRole(member, (event.target as HTMLSelectElement).value as MemberRole)
                        }
                      >
                        {of.roles.map(role => (
                          <option key={role} value={role} selected={role === member.role}>
                            {role}
                          </option>
                        ))}
                      </select>
                    ) : (
                      <Badge>{member.role}</Badge>
                    ),
                  "tight",
                ],
                ["Joined", ({ joined_at }) => <Time at={joined_at} />, "tight"],
                ...(manages || of.self
                  ? ([
                      [
                        "Actions",
                        (member: Member) =>
                          (mayChange(member) || member.user_id === of.self) && (
                            <button type="button" onClick={() => setOpen(member)}>
                              {member.user_id === of.self ? "Leave…" : "Remove…"}
                              <span class="unseen"> {nameOf(member)}</span>
                            </button>
                          ),
                        "tight",
                      ],
                    ] as const)
                  : []),
              ]}
            />
          )}
        </Rows>
        <More list={list} one="member" />
      </div>
      {open === "add" && (
        <Add
          of={of}
          close={() => setOpen(null)}
          done={member => {
            list.change(items => [member, ...items]);
            setOpen(null);
          }}
        />
      )}
      {open && open !== "add" && (
        <Remove
          of={of}
          member={open}
          close={() => setOpen(null)}
          done={() => {
            list.change(items => items.filter(({ user_id }) => user_id !== open.user_id));
            setOpen(null);
            if (open.user_id === of.self) of.left?.();
          }}
        />
      )}
    </>
  );
}

function Add({ of, close, done }: { of: MembersOf; close: () => void; done: (member: Member) => void }) {
  const action = useAction();
  const add = ({ role, ...texts }: Record<string, string>) =>
    action.run(async () => {
      const given = Object.fromEntries(Object.entries(texts).filter(([, text]) => text.trim() !== ""));
      const { body } = await of.add({ ...given, role } as unknown as AddBody);
      say(`${nameOf(body)} is ${body.role} now`);
      done(body);
    });
  return (
    <Dialog title="Add a member" onClose={close}>
      <Form action={action} submit="Add" onSubmit={add}>
        <p class="dim">
          For somebody whose subject at the identity provider you know. Others get an invitation.
        </p>
        <TextField
          label="Subject"
          name="auth_subject"
          required
          maxLength={255}
          hint="The sub of their token."
        />
        <TextField
          label="Provider"
          name="auth_provider"
          maxLength={255}
          hint="The iss of their token. Empty: the same as yours."
        />
        <TextField label="E-mail" name="email" type="email" />
        <TextField label="Name" name="display_name" maxLength={255} />
        <SelectField
          label="Role"
          name="role"
          value="member"
          options={ROLES.filter(([role]) => of.roles.includes(role))}
        />
      </Form>
    </Dialog>
  );
}

function Remove({
  of,
  member,
  close,
  done,
}: {
  of: MembersOf;
  member: Member;
  close: () => void;
  done: () => void;
}) {
  const action = useAction();
  const self = member.user_id === of.self;
  const remove = () =>
    action.run(async () => {
      await of.remove(member.user_id);
      say(self ? "You have left" : `${nameOf(member)} is removed`);
      done();
    });
  return (
    <Dialog
      title={
        self ? (
          "Leave this organization?"
        ) : (
          <>
            Remove <Name>{nameOf(member)}</Name>?
          </>
        )
      }
      onClose={close}
    >
      <Form action={action} submit={self ? "Leave" : "Remove"} danger onSubmit={remove}>
        <p>
          {self ? "You are" : "They are"} out with the next request. What {self ? "you" : "they"} made stays
          with the organization.
        </p>
      </Form>
    </Dialog>
  );
}
