import type { NotReady, Readiness } from "../../client/api.ts";
import { Refused } from "../api.ts";
import { Loaded, useLoad, useLookAgain } from "../parts/load.tsx";
import { Badge } from "../parts/text.tsx";
import { BASE } from "../settings.ts";

const MEANS: Record<string, string> = {
  database: "The database answers and takes writes",
  migrations: "Its schema has what this release needs",
  isolation: "It keeps tenants apart",
  clock: "Its clock agrees with the service's",
};

/** `/ready`, which anybody may ask: 503 is an answer too. */
async function read(signal: AbortSignal): Promise<Readiness | NotReady> {
  try {
    const answer = await fetch(new URL("ready", BASE), { cache: "no-store", signal });
    const found = (await answer.json()) as Readiness | NotReady;
    if ("checks" in found) return found;
  } catch (error) {
    if (signal.aborted) throw error;
  }
  throw new Refused(0, { error: "No answer", detail: "/ready does not answer." });
}

export function Health() {
  const load = useLoad("ready", read);
  const well = Object.values(load.value?.checks ?? {}).every(found => found === "ok");
  useLookAgain(load, load.error !== undefined || !well);
  return (
    <section class="panel" aria-label="Health">
      <div class="head">
        <h2>Health</h2>
        <button type="button" disabled={load.loading} onClick={() => load.reload()}>
          Check again
        </button>
      </div>
      <Loaded of={load}>
        {({ checks }) => (
          <ul class="checks">
            {Object.entries(checks).map(([name, found]) => (
              <li key={name}>
                <Badge>{found === "ok" ? "ok" : found === "unknown" ? "unknown" : "error"}</Badge>
                <span>
                  {MEANS[name] ?? name}
                  {found !== "ok" && <b class="line">{found}</b>}
                </span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </section>
  );
}
