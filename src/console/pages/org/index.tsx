import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { MyTenant } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { type Me, namedBy } from "../../me.ts";
import { Dates } from "../../parts/dates.tsx";
import { Form, TextField } from "../../parts/form.tsx";
import { Loaded, useAction, useLoad } from "../../parts/load.tsx";
import { Badge, Copy, Name, say, Time, Title } from "../../parts/text.tsx";
import { go, path } from "../../router.ts";
import { Events } from "../activity.tsx";
import type { Here } from "../here.ts";
import { Members } from "../members/index.tsx";
import { membersOfMine } from "../members/of.ts";
import { Invitations } from "./invitations.tsx";
import { Keys } from "./keys.tsx";
import type { Own } from "./own.ts";
import { OwnSettings } from "./settings.tsx";

/** An organization, as its own people see it. */
export function Organization({ mine, tab, here }: { mine: MyTenant; tab: string; here: Here }) {
  const { slug, status } = mine;
  const { only } = here.me;
  if (only && only.slug !== slug) return <Elsewhere only={only} mine={mine} here={here} />;
  if (status === "active") return <Active slug={slug} tab={tab} here={here} />;
  return (
    <>
      <Title id={slug}>
        <Name>{mine.name}</Name>
      </Title>
      <p class="note warn">
        {status === "pending"
          ? "It waits for an operator's approval. Come back later."
          : `It is ${status}. An operator of this deployment can say why.`}
      </p>
      <div class="buttons">
        <button type="button" onClick={() => here.reload()}>
          Refresh
        </button>
      </div>
    </>
  );
}

function Active({ slug, tab, here }: { slug: string; tab: string; here: Here }) {
  const load = useLoad(`current ${slug}`, signal =>
    call("getCurrentTenant", undefined, { tenant: slug, signal }),
  );
  return (
    <Loaded of={load}>
      {answer => <Page tab={tab} own={{ slug, current: answer.body, etag: answer.etag, load, here }} />}
    </Loaded>
  );
}

/** The token wins over the chooser. */
function Elsewhere({ only, mine, here }: { only: NonNullable<Me["only"]>; mine: MyTenant; here: Here }) {
  const reachable = here.me.tenants.find(({ slug }) => slug === only.slug);
  return (
    <>
      <Title id="elsewhere">Your sign-in is for another organization</Title>
      <p class="note warn">
        You are {mine.role} of <Name>{mine.name}</Name>. But your sign-in names <code>{only.slug}</code> by{" "}
        {namedBy(only.source)}, and the service goes by that. Sign in with a token that names{" "}
        <code>{mine.slug}</code>, or none; an operator can let the chooser decide, with{" "}
        <code>SERVICE_TENANT_PRECEDENCE=header</code>.
      </p>
      {reachable && (
        <p>
          <a class="button" href={path(["org", only.slug])}>
            Go to <Name>{reachable.name}</Name>
          </a>
        </p>
      )}
    </>
  );
}

const TITLES: Record<string, string> = {
  members: "Members",
  invitations: "Invitations",
  keys: "API keys",
  settings: "Settings",
  activity: "Activity",
};

function Page({ own, tab }: { own: Own; tab: string }) {
  const { tenant } = own.current;
  return (
    <>
      <div class="head">
        <div>
          {tab && (
            <p class="crumb">
              <a href={path(["org", own.slug])}>
                <Name>{tenant.name}</Name>
              </a>
            </p>
          )}
          <Title id={`${own.slug} ${tab}`}>{tab ? TITLES[tab] : <Name>{tenant.name}</Name>}</Title>
        </div>
      </div>
      {partOf(own, tab)}
    </>
  );
}

function partOf(own: Own, tab: string): ComponentChildren {
  const { slug, current, here, load } = own;
  if (tab === "members")
    return (
      <Members
        of={membersOfMine(slug, current.membership, member => {
          if (member) load.reload();
          else go("#/");
          here.reload();
        })}
      />
    );
  if (current.membership.role !== "member") {
    if (tab === "invitations") return <Invitations own={own} />;
    if (tab === "keys") return <Keys own={own} />;
    if (tab === "settings") return <OwnSettings own={own} />;
    if (tab === "activity")
      return (
        <Events
          feed={{ key: `events in ${slug}`, operation: "listTenantEvents", query: {}, tenant: slug }}
          columns={false}
        />
      );
  } else if (tab) return <p class="note">Owners and admins of the organization see this.</p>;
  return <Overview own={own} />;
}

function Overview({ own }: { own: Own }) {
  const { tenant, membership } = own.current;
  return (
    <div class="grid">
      <section class="panel" aria-label="Facts">
        <h2>Facts</h2>
        <dl class="facts">
          <dt>Slug</dt>
          <dd>
            <Copy label="slug">{tenant.slug}</Copy>
          </dd>
          <dt>Id</dt>
          <dd>
            <Copy label="id">{tenant.tenant_id}</Copy>
          </dd>
          <dt>You are</dt>
          <dd>
            <Badge>{membership.role}</Badge>
          </dd>
          <dt>You joined</dt>
          <dd>
            <Time at={membership.joined_at} />
          </dd>
          <Dates tenant={tenant} />
        </dl>
      </section>
      {membership.role !== "member" && <Rename own={own} />}
    </div>
  );
}

function Rename({ own }: { own: Own }) {
  const { slug, current, etag, load, here } = own;
  const action = useAction();
  const [name, setName] = useState(current.tenant.name);
  const rename = () =>
    action.run(async () => {
      await call(
        "patchCurrentTenant",
        { body: { name }, headers: etag ? { "If-Match": etag } : {} },
        { tenant: slug },
      );
      say("The name is saved");
      load.reload();
      here.reload();
    });
  return (
    <section class="panel" aria-label="Name">
      <h2>Name</h2>
      <Form action={action} submit="Save name" disabled={name === current.tenant.name} onSubmit={rename}>
        <TextField label="Name" name="name" required maxLength={255} value={name} onInput={setName} />
      </Form>
    </section>
  );
}
