import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import { callFunction, type Row } from "../database/database.ts";
import { takesNoWrites, toProblem } from "../errors/errors.ts";
import { hasState } from "../errors/sqlstates.ts";
import { RELEASE } from "../migrate/release.ts";

/** What the database says of itself. */
interface Readiness {
  /** Sentences, one a fault; null where the database could not be asked. Without secrets: anybody may read them. */
  checks: Record<"database" | "migrations" | "isolation" | "clock", string[] | null>;
  /** Unknown while the database cannot be asked. */
  known: Known | null;
}
type Answer = Omit<Readiness["checks"], "clock"> & Known & { clock: number };
interface Known {
  /** Of the first event that no feed shows yet; 0: none waits. */
  events_wait_seconds: number;
  tenants: Record<"pending" | "active" | "suspended" | "deleted", number>;
  /** The last isolation audit that ran to its end. */
  audit: {
    finished_at: string;
    age_seconds: number;
    errors: number;
    warnings: number;
    not_run: number;
  } | null;
}

/** All who ask within this time share one answer, so that nobody can wear the database out by asking. */
const SHARED_MS = 1_000;
const PATIENCE_MS = 2_000;
/** From 30 s on the database refuses the proofs of callers. */
const CLOCKS_DIFFER_S = 25;
/** So many questions may wait for the database at once, however often somebody asks: the other connections are for requests. */
const UNDER_WAY = 2;

/** Adds `app.readiness()`. It never rejects. */
export default fp(
  async (app: FastifyInstance) => {
    let asked = 0;
    let underWay = 0;
    let answer: Promise<Readiness> | undefined;
    const question = () => {
      underWay++;
      return callFunction(app, "get_readiness", { release: RELEASE.number }).finally(() => underWay--);
    };
    app.decorate("readiness", () => {
      const now = performance.now(); // a clock that is set back would keep the answer
      if (!answer || (now - asked > SHARED_MS && underWay < UNDER_WAY)) {
        asked = now;
        answer = answerOf(app, question());
      }
      return answer;
    });
  },
  { name: "readiness", dependencies: ["database"] },
);

async function answerOf(app: FastifyInstance, question: Promise<Row>): Promise<Readiness> {
  const done = new AbortController();
  const late = sleep(PATIENCE_MS, null, { signal: done.signal }).catch(() => null);
  try {
    const sent = Date.now();
    const row = await Promise.race([question, late]);
    const between = (sent + Date.now()) / 2;
    if (!row) return faulty({ database: [`no answer within ${PATIENCE_MS / 1000} s`] });
    const { migrations, isolation, clock, ...known } = JSON.parse(row.body) as Answer;
    return {
      checks: { database: [], migrations, isolation, clock: clockFaults(app, between / 1000 - clock) },
      known,
    };
  } catch (error) {
    app.log.warn({ err: error }, "the database cannot be asked whether it is ready");
    if (takesNoWrites(error)) return faulty({ database: [(error as Error).message] });
    return hasState(error, "invalid_schema_name", "undefined_function")
      ? faulty({ migrations: ["the schema of this release is missing"] })
      : faulty({
          database: [
            toProblem(error)?.status === 503
              ? "it cannot be reached"
              : "it answers with an error, which the service's log has",
          ],
        });
  } finally {
    done.abort();
  }
}

/** Without proofs of callers nothing compares the two clocks. */
function clockFaults({ database }: FastifyInstance, ahead: number): string[] {
  const seconds = Math.round(Math.abs(ahead));
  if (database.contextSecret === null || seconds < CLOCKS_DIFFER_S) return [];
  return [
    `this instance is ${seconds} s ${ahead > 0 ? "ahead of" : "behind"} the database, which refuses its proofs of callers from 30 s on`,
  ];
}

const faulty = (checks: Partial<Readiness["checks"]>): Readiness => ({
  checks: { database: [], migrations: null, isolation: null, clock: null, ...checks },
  known: null,
});

declare module "fastify" {
  interface FastifyInstance {
    readiness(): Promise<Readiness>;
  }
}
