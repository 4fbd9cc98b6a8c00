import { useRef, useState } from "preact/hooks";
import type { Member } from "../../../client/api.ts";
import { TextField, useTyped } from "../../parts/form.tsx";
import { More, Rows, useList } from "../../parts/list.tsx";
import { Table } from "../../parts/table.tsx";
import { Badge, Time, visible } from "../../parts/text.tsx";
import { path, replace, route } from "../../router.ts";
import { useStore } from "../../store.ts";
import { Add } from "./add.tsx";
import { Identity, Who } from "./cells.tsx";
import { type MembersOf, nameOf } from "./of.ts";
import { Remove } from "./remove.tsx";
import { Role } from "./role.tsx";

/** So many need no search. */
const FEW = 10;

type Open = { what: "add" } | { what: "role" | "remove"; member: Member };

export function Members({ of }: { of: MembersOf }) {
  const { parts, query } = useStore(route);
  const q = query.get("q") ?? "";
  const [text, setText] = useTyped(q, typed => replace(path(parts, { q: typed })));
  const list = useList<Member>(`members ${of.key} ${q}`, async (cursor, signal) => {
    const answer = await of.list(cursor, signal, q);
    return { ...answer, body: { items: answer.body.members } };
  });
  // It stays, and keeps the focus, while a search leaves fewer.
  const many = useRef(false);
  if (q || list.items.length >= FEW) many.current = true;
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  const again = () => {
    list.reload();
    of.reload?.();
  };
  const manages = of.roles.length > 0;
  const mayChange = (member: Member) => manages && of.roles.includes(member.role);
  return (
    <>
      <div class="head">
        <p class="lead">
          {manages
            ? "Who belongs, newest first. A removed member is out with the next request. "
            : "Who belongs, newest first. "}
          The <i>subject</i> is what the sign-in's provider calls the account.
        </p>
        {manages && (
          <button type="button" class="primary" onClick={() => setOpen({ what: "add" })}>
            Add a member
          </button>
        )}
      </div>
      {many.current && (
        <div class="filters">
          <TextField
            label="Search"
            name="q"
            type="search"
            placeholder="A part of the name, e-mail address or subject"
            value={text}
            onInput={setText}
          />
        </div>
      )}
      <div class="panel flush">
        <Rows list={list} empty={<p>{q ? "No member matches." : "Nobody belongs here yet."}</p>}>
          {items => (
            <Table
              label="Members"
              rows={items}
              keyOf={({ user_id }) => user_id}
              shows={of.roles.join() + of.self}
              columns={[
                ["Name", member => <Who member={member} self={member.user_id === of.self} />],
                ["Subject", member => <Identity member={member} />],
                [
                  "Role",
                  member =>
                    mayChange(member) ? (
                      <button
                        type="button"
                        class="badge"
                        aria-haspopup="dialog"
                        onClick={() => setOpen({ what: "role", member })}
                      >
                        {member.role}
                        <span class="unseen">: change the role of {visible(nameOf(member))}</span>
                      </button>
                    ) : (
                      <Badge>{member.role}</Badge>
                    ),
                  "mark",
                ],
                ["Joined", ({ joined_at }) => <Time at={joined_at} />, "time"],
                ...(manages || of.self
                  ? ([
                      [
                        "Actions",
                        (member: Member) => (
                          <>
                            {of.why && (
                              <a class="button quiet" href={of.why(member)}>
                                Why?<span class="unseen"> {visible(nameOf(member))}</span>
                              </a>
                            )}
                            {(mayChange(member) || member.user_id === of.self) && (
                              <button
                                type="button"
                                class="quiet"
                                onClick={() => setOpen({ what: "remove", member })}
                              >
                                {member.user_id === of.self ? "Leave…" : "Remove…"}
                                <span class="unseen"> {visible(nameOf(member))}</span>
                              </button>
                            )}
                          </>
                        ),
                        of.why ? "acts" : "act",
                      ],
                    ] as const)
                  : []),
              ]}
            />
          )}
        </Rows>
        <More list={list} one="member" />
      </div>
      {open?.what === "add" && (
        <Add
          of={of}
          close={close}
          again={again}
          done={member => {
            list.change(items => [member, ...items]);
            close();
            of.reload?.();
          }}
        />
      )}
      {open?.what === "role" && (
        <Role
          of={of}
          member={open.member}
          close={close}
          again={again}
          done={member => {
            list.change(items => items.map(one => (one.user_id === member.user_id ? member : one)));
            close();
            if (member.user_id === of.self) of.changed?.(member);
          }}
        />
      )}
      {open?.what === "remove" && (
        <Remove
          of={of}
          member={open.member}
          close={close}
          again={again}
          done={() => {
            list.change(items => items.filter(({ user_id }) => user_id !== open.member.user_id));
            close();
            of.reload?.();
            if (open.member.user_id === of.self) of.changed?.(null);
          }}
        />
      )}
    </>
  );
}
