import type { Member } from "../../../client/api.ts";
import { useAction } from "../../parts/action.ts";
import { Cancel } from "../../parts/dialog.tsx";
import { Dialog, Form } from "../../parts/form.tsx";
import { Name, say } from "../../parts/text.tsx";
import { type Asking, lastOwner, nameOf } from "./of.ts";

export function Remove({ of, member, close, again, done }: Asking & { member: Member; done: () => void }) {
  const action = useAction(again);
  const self = member.user_id === of.self;
  const remove = () =>
    action.run(async () => {
      await of.remove(member.user_id).catch(lastOwner);
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
      <Form action={action} submit={self ? "Leave" : "Remove"} danger onSubmit={remove} beside={<Cancel />}>
        <p>
          {self ? "You are" : "They are"} refused from the next request on, and {self ? "come" : "can come"}{" "}
          back only if somebody adds or invites {self ? "you" : "them"} again. What {self ? "you" : "they"}{" "}
          made stays with the organization.
        </p>
      </Form>
    </Dialog>
  );
}
