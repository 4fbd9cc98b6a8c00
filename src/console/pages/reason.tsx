import type { ComponentChildren } from "preact";
import { useAction } from "../parts/action.ts";
import { Cancel } from "../parts/dialog.tsx";
import { Dialog, Form, TextField } from "../parts/form.tsx";
import { Name } from "../parts/text.tsx";

/** The reason of what ends somebody's access, and who reads it. */
export const Reason = ({ inAddress = false }: { inAddress?: boolean }) => (
  <TextField
    label="Reason"
    name="reason"
    maxLength={500}
    hint={
      <>
        Optional. Operators read it in the activity; the organization's people do not see it.
        {inAddress && " It is in access logs, too: write nothing secret."}
      </>
    }
  />
);

/** Asks before a tenant's people are refused. `act` gets the reason as the body of its request. */
export function AskReason({
  verb,
  submit,
  name,
  close,
  stale,
  act,
  children,
}: {
  verb: string;
  submit: string;
  name: string;
  close: () => void;
  /** Somebody else was first. */
  stale: () => void;
  act: (reason: { body?: { reason: string } }) => Promise<unknown>;
  children: ComponentChildren;
}) {
  const action = useAction(stale);
  const run = ({ reason = "" }: Record<string, string>) => {
    const given = reason.trim();
    return action.run(() => act(given ? { body: { reason: given } } : {}));
  };
  return (
    <Dialog
      title={
        <>
          {verb} <Name>{name}</Name>?
        </>
      }
      onClose={close}
    >
      <Form action={action} submit={submit} danger onSubmit={run} beside={<Cancel />}>
        <p>{children}</p>
        <Reason />
      </Form>
    </Dialog>
  );
}
