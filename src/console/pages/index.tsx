import type { ComponentChildren } from "preact";
import type { Me } from "../me.ts";
import { Title, visible } from "../parts/text.tsx";
import { route } from "../router.ts";
import { Activity } from "./activity/index.tsx";
import type { Here } from "./here.ts";
import { Accept } from "./invitations/accept.tsx";
import { Isolation } from "./isolation/index.tsx";
import { NewTenant } from "./new-tenant.tsx";
import { NotHere } from "./not-here.tsx";
import { Organization } from "./org/index.tsx";
import { Register, Rejected } from "./register.tsx";
import { Setup } from "./setup.tsx";
import { TenantPage } from "./tenant/index.tsx";
import { Tenants } from "./tenants.tsx";
import { Waiting } from "./waiting.tsx";
import { Why } from "./why/index.tsx";

/** An organization that is none of theirs, or not any more. */
const NotYours = ({ here, slug }: { here: Here; slug: string }) => (
  <>
    <Title id={`not ${slug}`}>You do not belong to this organization</Title>
    <Rejected here={here} />
    <p class="note">
      You are no member of <code>{visible(slug)}</code>. You were removed, or it was rejected or deleted, or
      it never was: the service gives one answer to all of these. Its owner or an operator can say why.
    </p>
    <p>
      <a href="#/">Go to the first page</a>
    </p>
  </>
);

function operatorPage({ parts }: Here): ComponentChildren {
  const [first, second, third = ""] = parts;
  if (first === "waiting") return <Waiting />;
  if (first === "tenants") return second === "new" ? <NewTenant /> : <Tenants />;
  if (first === "tenant" && second) return <TenantPage id={second} tab={third} />;
  if (first === "activity") return <Activity />;
  if (first === "isolation") return <Isolation />;
  if (first === "why") {
    // Another question, such as from Ctrl K, does not wait for the answer to the last one.
    const { query } = route.get();
    return <Why key={query.toString()} query={query} />;
  }
  if (first === "setup") return <Setup />;
  return null;
}

function ownPage(here: Here): ComponentChildren {
  const { me, parts } = here;
  const [first, second, third = ""] = parts;
  if (first === "register") return <Register here={here} />;
  if (first === "invitation") return <Accept here={here} />;
  const mine = first === "org" ? me.tenants.find(({ slug }) => slug === second) : undefined;
  if (first === "org" && second && !mine) return <NotYours here={here} slug={second} />;
  return mine && <Organization key={mine.slug} mine={mine} tab={third} here={here} />;
}

export function pageOf(here: Here): ComponentChildren {
  return (here.me.operator && operatorPage(here)) || ownPage(here) || <NotHere />;
}

/** The page of somebody who has named none. */
export const firstOf = ({ operator }: Me, slug: string | undefined): string[] => {
  if (operator) return ["waiting"];
  return slug ? ["org", slug] : ["register"];
};
