import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { MyTenant } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { aRole, type Me, namedBy } from "../../me.ts";
import { Loaded, useFresh, useLoad } from "../../parts/load.tsx";
import { Badge, Name, Title, visible } from "../../parts/text.tsx";
import { go, path } from "../../router.ts";
import { Events } from "../activity/events.tsx";
import type { Here } from "../here.ts";
import { Invitations } from "../invitations/index.tsx";
import { Differs } from "../invitations/link.tsx";
import { invitationsOfMine } from "../invitations/of.ts";
import { Members } from "../members/index.tsx";
import { membersOfMine } from "../members/of.ts";
import { NotHere } from "../not-here.tsx";
import { Keys } from "./keys.tsx";
import { Overview } from "./overview.tsx";
import type { Own } from "./own.ts";
import { OwnSettings } from "./settings.tsx";

/** An organization, as its own people see it. */
export function Organization({ mine, tab, here }: { mine: MyTenant; tab: string; here: Here }) {
  const { slug, status } = mine;
  const { only } = here.me;
  if (tab && !Object.hasOwn(TITLES, tab)) return <NotHere />;
  if (only && only.slug !== slug)
    return (
      <>
        <Differs slug={slug} />
        <Elsewhere only={only} mine={mine} here={here} />
      </>
    );
  if (status === "active") return <Active key={mine.role} mine={mine} tab={tab} here={here} />;
  return (
    <>
      <Title id={slug}>
        <Name>{mine.name}</Name>
      </Title>
      <p class="note warn">
        {status === "pending"
          ? "It waits for an operator's approval. Nobody is notified: come back later, and look again here."
          : `It is ${status}: everybody is refused, and nothing is deleted. An operator of this deployment can say why.`}
      </p>
      <div class="buttons">
        <button type="button" onClick={() => here.reload()}>
          Look again
        </button>
      </div>
    </>
  );
}

function Active({ mine: { slug, name, role }, tab, here }: { mine: MyTenant; tab: string; here: Here }) {
  const load = useLoad(`current ${slug}`, signal =>
    call("getCurrentTenant", undefined, { tenant: slug, signal }),
  );
  useFresh(load.reload, tab);
  useEffect(() => {
    // Renamed here or elsewhere, or given another role: the menu follows.
    const { tenant, membership } = load.value?.body ?? {};
    if (tenant && (tenant.name !== name || membership?.role !== role)) here.reload();
  }, [load.value]);
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
        You are {aRole(mine.role)} of <Name>{mine.name}</Name>. But your sign-in names{" "}
        <code>{visible(only.slug)}</code> by {namedBy(only.source)}, and the service goes by that. Sign in
        with a token that names <code>{mine.slug}</code>, or none; an operator can let the chooser decide,
        with <code>SERVICE_TENANT_PRECEDENCE=header</code>.
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
          {!tab && (
            <p class="meta">
              Your role: <Badge>{own.current.membership.role}</Badge>
            </p>
          )}
        </div>
      </div>
      {!tab && <Differs slug={own.slug} />}
      {partOf(own, tab)}
    </>
  );
}

function partOf(own: Own, tab: string): ComponentChildren {
  const { slug, current, here, load } = own;
  const members = membersOfMine(slug, current.membership, member => {
    if (member) load.reload();
    else go("#/");
    here.reload();
  });
  if (tab === "members") return <Members of={members} />;
  if (tab === "") return <Overview own={own} />;
  if (current.membership.role === "member")
    return <p class="note">Owners and admins of the organization see this.</p>;
  if (tab === "invitations")
    return (
      <Invitations
        of={invitationsOfMine(slug, current.membership.role, { to: current.tenant.name, by: here.me.name })}
      />
    );
  if (tab === "keys") return <Keys own={own} />;
  if (tab === "settings") return <OwnSettings own={own} />;
  return (
    <Events
      feed={{
        key: `events in ${slug}`,
        operation: "listTenantEvents",
        query: {},
        tenant: slug,
        members: members.list,
      }}
      tenants={false}
    />
  );
}
