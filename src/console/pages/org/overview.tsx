import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { useAction } from "../../parts/action.ts";
import { Dates } from "../../parts/dates.tsx";
import { Form, TextField } from "../../parts/form.tsx";
import { Loaded, useLoad } from "../../parts/load.tsx";
import { Badge, Copy, Name, say, Time } from "../../parts/text.tsx";
import { path } from "../../router.ts";
import { nameOf } from "../members/of.ts";
import { LastEvents, useLastEvents } from "../tenant/overview.tsx";
import type { Own } from "./own.ts";

/** The first page of an organization: who belongs, who is invited, what happened last. */
export function Overview({ own }: { own: Own }) {
  const manages = own.current.membership.role !== "member";
  return (
    <div class="columns">
      <div class="stack">
        <FirstMembers own={own} />
        {manages && <OpenInvitations own={own} />}
        {manages && <Last own={own} />}
      </div>
      <div class="stack">
        <Facts own={own} />
        {manages && <Rename own={own} />}
      </div>
    </div>
  );
}

const FEW = 5;

function Few({
  title,
  to,
  all,
  empty,
  children,
}: {
  title: string;
  to: string;
  all: string;
  empty: string;
  children: ComponentChildren[];
}) {
  return (
    <section class="panel flush" aria-label={title}>
      <div class="head inner">
        <h2>{title}</h2>
        <a href={to}>{all}</a>
      </div>
      {children.length === 0 ? <p class="inner dim">{empty}</p> : <ul class="few">{children}</ul>}
    </section>
  );
}

function FirstMembers({ own: { slug: tenant } }: { own: Own }) {
  const load = useLoad(`first members of ${tenant}`, async signal => {
    const query = { limit: FEW };
    return (await call("listMembers", { query }, { tenant, signal })).body.members;
  });
  return (
    <Loaded of={load}>
      {members => (
        <Few
          title="Newest members"
          to={path(["org", tenant, "members"])}
          all="All members"
          empty="Nobody yet."
        >
          {members.map(member => (
            <li key={member.user_id}>
              <Name>{nameOf(member)}</Name> <Badge>{member.role}</Badge> <Time at={member.joined_at} />
            </li>
          ))}
        </Few>
      )}
    </Loaded>
  );
}

function OpenInvitations({ own: { slug: tenant } }: { own: Own }) {
  const load = useLoad(`first invitations of ${tenant}`, async signal => {
    const query = { limit: FEW };
    return (await call("listInvitations", { query }, { tenant, signal })).body.invitations;
  });
  return (
    <Loaded of={load}>
      {invitations => (
        <Few
          title="Open invitations"
          to={path(["org", tenant, "invitations"])}
          all={invitations.length > 0 ? "All invitations" : "Invite somebody"}
          empty="No invitation is open."
        >
          {invitations.map(({ invitation_id, email, role, expires_at }) => (
            <li key={invitation_id}>
              {email ? <Name>{email}</Name> : <span class="dim">anybody with the link</span>}{" "}
              <Badge>{role}</Badge>{" "}
              <span class="dim">
                ends <Time at={expires_at} />
              </span>
            </li>
          ))}
        </Few>
      )}
    </Loaded>
  );
}

function Last({ own: { slug: tenant, current } }: { own: Own }) {
  const load = useLastEvents(tenant, current.tenant.updated_at, async signal => {
    const query = { order: "-at" as const, limit: FEW };
    return (await call("listTenantEvents", { query }, { tenant, signal })).body.events;
  });
  return (
    <Loaded of={load}>
      {events => <LastEvents events={events} to={path(["org", tenant, "activity"])} />}
    </Loaded>
  );
}

function Facts({ own }: { own: Own }) {
  const { tenant, membership } = own.current;
  return (
    <section class="panel" aria-label="Facts">
      <h2>Facts</h2>
      <dl class="facts tall">
        <dt>Slug</dt>
        <dd>
          <Copy label="slug">{tenant.slug}</Copy>
          <p class="hint">Its short name in requests: X-Tenant.</p>
        </dd>
        <dt>Id</dt>
        <dd>
          <Copy label="id">{tenant.tenant_id}</Copy>
        </dd>
        <dt>You joined</dt>
        <dd>
          <Time at={membership.joined_at} />
        </dd>
        <Dates tenant={tenant} />
      </dl>
    </section>
  );
}

function Rename({ own }: { own: Own }) {
  const { slug, current, etag, load } = own;
  const action = useAction(load.reload);
  const now = current.tenant.name;
  const [name, setName] = useState(now);
  /** The name that the reader began with: another one now is somebody else's. */
  const [base, setBase] = useState(now);
  const rename = () =>
    action.run(async () => {
      const headers = etag ? { "If-Match": etag } : {};
      const saved = await call("patchCurrentTenant", { body: { name }, headers }, { tenant: slug });
      say("The name is saved");
      setBase(saved.body.tenant.name);
      load.set(saved);
    });
  const theirs = action.error !== undefined && now !== base;
  return (
    <section class="panel" aria-label="Name">
      <h2>Name</h2>
      <Form
        action={action}
        submit={theirs ? "Save mine over it" : "Save name"}
        disabled={name === now}
        onSubmit={rename}
      >
        <TextField label="Name" name="name" required maxLength={255} value={name} onInput={setName} />
        {theirs && (
          <p class="note warn">
            Meanwhile somebody else saved: <Name>{now}</Name>
          </p>
        )}
      </Form>
    </section>
  );
}
