import { useState } from "preact/hooks";
import type { Member, MemberRole } from "../../../client/api.ts";
import { aRole } from "../../me.ts";
import { useAction } from "../../parts/action.ts";
import { Cancel } from "../../parts/dialog.tsx";
import { Dialog, Form } from "../../parts/form.tsx";
import { Name, say } from "../../parts/text.tsx";
import { RoleChoice } from "./choice.tsx";
import { type Asking, lastOwner, nameOf } from "./of.ts";

/** Nothing that gives or takes power happens at an arrow key: choosing is one act, changing another. */
export function Role({
  of,
  member,
  close,
  again,
  done,
}: Asking & { member: Member; done: (member: Member) => void }) {
  const action = useAction(again);
  const [role, setRole] = useState<MemberRole>(member.role);
  const self = member.user_id === of.self;
  const change = () =>
    action.run(async () => {
      const { body } = await of.setRole(member.user_id, role).catch(lastOwner);
      say(`${self ? "You are" : `${nameOf(body)} is`} ${aRole(body.role)} now`);
      done(body);
    });
  return (
    <Dialog
      title={
        <>
          Role of <Name>{nameOf(member)}</Name>
        </>
      }
      onClose={close}
    >
      <Form
        action={action}
        submit={role === member.role ? "Change the role" : `Make ${self ? "me" : "them"} ${aRole(role)}`}
        disabled={role === member.role}
        onSubmit={change}
        beside={<Cancel />}
      >
        <RoleChoice roles={of.roles} first={member.role} current={member.role} onChange={setRole} />
        {self && role !== member.role && (
          <p class="note warn">
            This is your own role. You cannot undo it yourself: an owner has to give it back.
          </p>
        )}
        {role === "owner" && member.role !== "owner" && (
          <p class="note warn">An owner can remove every other owner, you too.</p>
        )}
      </Form>
    </Dialog>
  );
}
