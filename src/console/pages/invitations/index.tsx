import { useState } from "preact/hooks";
import type { Invitation } from "../../../client/api.ts";
import { More, Rows, useList } from "../../parts/list.tsx";
import { Once } from "../../parts/once.tsx";
import { Table } from "../../parts/table.tsx";
import { Badge, Name, Time, visible } from "../../parts/text.tsx";
import { path, replace, route, unlessUnsaved } from "../../router.ts";
import { useStore } from "../../store.ts";
import { Invite, Revoke } from "./acts.tsx";
import type { InvitationsOf } from "./of.ts";

export function Invitations({ of }: { of: InvitationsOf }) {
  const list = useList<Invitation>(`invitations ${of.key}`, async (cursor, signal) => {
    const answer = await of.list(cursor, signal);
    return { ...answer, body: { items: answer.body.invitations } };
  });
  const { parts, query } = useStore(route);
  const first = of.roles.find(role => role === query.get("invite"));
  const [open, setOpen] = useState<"invite" | Invitation | null>(first ? "invite" : null);
  const close = () => {
    setOpen(null);
    if (first) replace(path(parts));
  };
  const [made, setMade] = useState<{ of: Invitation; link: string } | null>(null);
  const invite = () => {
    setMade(null);
    setOpen("invite");
  };
  return (
    <>
      <div class="head">
        <p class="lead">Open invitations. Each lets in one person, once.</p>
        {of.roles.length > 0 && (
          <button type="button" class="primary" onClick={() => unlessUnsaved(invite)}>
            Invite somebody
          </button>
        )}
      </div>
      {of.closed && <p class="note warn">{of.closed}</p>}
      {made && (
        <Once key={made.of.invitation_id} label="link" value={made.link} close={() => setMade(null)}>
          Send this link to {made.of.email ? <Name>{made.of.email}</Name> : "the person you invite"}. It is
          shown this once; the service sends no mail.
        </Once>
      )}
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
                  ({ email, invited_by }) => (
                    <>
                      {email ? <Name>{email}</Name> : <span class="dim">anybody with the link</span>}
                      {invited_by === null && <span class="dim line">from an operator</span>}
                    </>
                  ),
                ],
                ["Role", ({ role }) => <Badge>{role}</Badge>, "mark"],
                ["Made", ({ created_at }) => <Time at={created_at} />, "time"],
                ["Ends", ({ expires_at }) => <Time at={expires_at} />, "time"],
                [
                  "Actions",
                  invitation =>
                    of.roles.includes(invitation.role) && (
                      <button type="button" class="quiet" onClick={() => setOpen(invitation)}>
                        Revoke…
                        <span class="unseen">
                          {" "}
                          the invitation for {visible(invitation.email ?? "anybody")}
                        </span>
                      </button>
                    ),
                  "act",
                ],
              ]}
            />
          )}
        </Rows>
        <More list={list} one="invitation" />
      </div>
      {open === "invite" && (
        <Invite
          of={of}
          first={first}
          close={close}
          done={(invitation, link) => {
            list.change(items => [invitation, ...items]);
            setMade({ of: invitation, link });
            close();
          }}
        />
      )}
      {open && open !== "invite" && (
        <Revoke
          of={of}
          invitation={open}
          close={close}
          done={() => {
            list.change(items => items.filter(one => one !== open));
            if (made?.of.invitation_id === open.invitation_id) setMade(null);
            close();
            of.reload?.();
          }}
        />
      )}
    </>
  );
}
