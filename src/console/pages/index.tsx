import type { ComponentChildren } from "preact";
import type { Me } from "../me.ts";
import { Title } from "../parts/text.tsx";
import { path } from "../router.ts";
import { NewTenant } from "./new-tenant.tsx";
import { Tenants } from "./tenants.tsx";
import { Waiting } from "./waiting.tsx";

export interface Here {
  me: Me;
  parts: string[];
  /** The organization that the reader looks at. */
  slug: string | undefined;
  /** Reads again who the reader is, and which organizations are theirs. */
  reload: () => void;
}

const NotHere = () => (
  <>
    <Title id="nothing">There is no such page</Title>
    <p>
      <a href="#/">Go to the first page</a>
    </p>
  </>
);

function operatorPage({ parts }: Here): ComponentChildren {
  const [first, second] = parts;
  if (first === "waiting") return <Waiting />;
  if (first === "tenants") return second === "new" ? <NewTenant /> : <Tenants />;
  return null;
}

export function pageOf(here: Here): ComponentChildren {
  const { me, parts } = here;
  if (parts.length === 0) return pageOf({ ...here, parts: firstOf(here) });
  return (me.operator && operatorPage(here)) || <NotHere />;
}

const firstOf = ({ me, slug }: Here): string[] => {
  if (me.operator) return ["waiting"];
  return slug ? ["org", slug] : ["register"];
};

export const tenantPath = (id: string, ...more: string[]) => path(["tenant", id, ...more]);
