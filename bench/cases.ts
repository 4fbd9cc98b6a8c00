/** What bench/http.ts asks: requests of a thousand members, and of more operators and founders than any limit counts. */
import { createHash, randomUUID } from "node:crypto";
import type { Request } from "autocannon";
import { SignJWT } from "jose";

export const SECRET = "a benchmark secret of more than thirty-two bytes";

export type Name = "service" | "rows" | "json" | "postgraphile" | "postgraphile, no page info";

/** Requests that differ from each other; a list is sent round and round, a function makes each. */
type Requests = Request[] | ((request: Request) => Request);

export interface Case {
  name: string;
  /** The floor that makes JSON in SQL has no case of its own for writes. */
  variants: Name[];
  requests: Requests;
  /** What others than the service and the floor are asked instead. */
  asked?: Partial<Record<Name, Requests>>;
  rounds?: number;
}

/** `callers`: so many operators and as many founders. Limits count by identity: enough that none reaches its own. */
export async function casesOf(tenants: number, callers: number): Promise<Case[]> {
  const key = new TextEncoder().encode(SECRET);
  const sign = (claims: Record<string, unknown>) =>
    new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).setExpirationTime("2h").sign(key);
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const ids = Array.from({ length: 1_000 }, (_, i) => 1 + Math.floor((i * tenants) / 1_000));
  const members = await Promise.all(
    ids.map(n => sign({ sub: `user-${n}`, tenant: `t-${n}`, tenant_id: uuidOf(n) })),
  );
  const operators = await Promise.all(
    Array.from({ length: callers }, (_, i) =>
      sign({ sub: `operator-${i}`, tenant: "t-1", tenant_id: uuidOf(1), roles: "tenant-operator" }),
    ),
  );
  const founders = await Promise.all(
    Array.from({ length: callers }, (_, i) =>
      sign({ sub: `founder-${i}`, tenant: "nobody-yet", tenant_id: uuidOf(1) }),
    ),
  );
  const reading: Name[] = ["service", "rows", "json"];
  const get = (path: string) =>
    members.map((token): Request => ({ method: "GET", path, headers: bearer(token) }));
  const nodes = "nodes { id title description ownerId createdAt updatedAt }";
  const graphQl = (fields: string) =>
    members.map(
      (token): Request => ({
        method: "POST",
        path: "/graphql",
        headers: { ...bearer(token), "content-type": "application/json" },
        body: JSON.stringify({ query: `{ allBoards(first: 20, orderBy: CREATED_AT_DESC) { ${fields} } }` }),
      }),
    );
  let turn = 0;
  const post = (path: string, tokens: string[], body: (slug: string) => object) => (request: Request) => {
    const slug = `n-${randomUUID()}`;
    return {
      ...request,
      method: "POST" as const,
      path,
      headers: { ...bearer(tokens[turn++ % tokens.length]!), "content-type": "application/json" },
      body: JSON.stringify(body(slug)),
    };
  };
  return [
    { name: "read the current tenant", variants: reading, requests: get("/api/tenants/current") },
    {
      name: "list 20 boards",
      variants: [...reading, "postgraphile", "postgraphile, no page info"],
      requests: get("/api/boards?limit=20"),
      asked: {
        postgraphile: graphQl(`${nodes} pageInfo { hasNextPage endCursor }`),
        "postgraphile, no page info": graphQl(nodes),
      },
    },
    {
      name: "read one tenant as operator",
      variants: reading,
      rounds: 3,
      requests: request => ({
        ...request,
        method: "GET",
        path: `/api/setup/tenant/${uuidOf(ids[turn % ids.length]!)}`,
        headers: bearer(operators[turn++ % operators.length]!),
      }),
    },
    {
      name: "create a tenant",
      variants: ["service", "rows"],
      rounds: 3,
      requests: post("/api/setup/tenant", operators, slug => ({ name: slug, slug })),
    },
    {
      name: "register",
      variants: ["service", "rows"],
      rounds: 3,
      requests: post("/api/tenants/register", founders, slug => ({
        organization_name: slug,
        organization_slug: slug,
        admin_email: "ann@corp.example",
        include_sample_data: false,
      })),
    },
  ];
}

/** The id that the seed gave tenant n. */
function uuidOf(n: number): string {
  const hex = createHash("md5").update(`t${n}`).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
