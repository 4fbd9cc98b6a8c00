/** Plans how tenants are isolated in a database in use, and rehearses the plan. Nothing is changed. */
import type { Vouched } from "../audit/baseline.ts";
import { inSession } from "../audit/session.ts";
import type { Answers } from "./answers.ts";
import { makePlan, type Plan } from "./plan.ts";
import { type Profile, profileOf } from "./profile.ts";
import { readLiving } from "./read.ts";
import { type Rehearsal, rehearse } from "./rehearse.ts";

interface AdoptRequest {
  /** The profile in the file of answers. */
  profile: Profile;
  answers: Answers;
  /** The functions that it vouches for. */
  vouched: Vouched[];
  /** The tables to adopt now; null: all. */
  only: string[] | null;
  /** `idle`: only if no other session could wait for its locks. */
  rehearse: "never" | "idle" | "always";
}

export interface Adoption {
  plan: Plan;
  rehearsal: Rehearsal | null;
  /** Why there is no rehearsal. */
  notRehearsed: string | null;
  /** The audit's profile of the database after the plan, for adopt.json. */
  profile: Record<string, unknown>;
}

/** @throws StartupError */
export function adopt(
  url: string,
  what: string,
  { profile: given, answers, vouched, only, rehearse: when }: AdoptRequest,
  onStep: (text: string) => void = () => {},
): Promise<Adoption> {
  return inSession(url, what, async tx => {
    const living = await readLiving(tx, given, answers);
    const plan = makePlan(living, answers, only);
    const profile = profileOf(plan, given);
    const { busy, installed } = living;
    const notRehearsed = !installed
      ? "the service is not installed here: run tenancy migrate, see docs/guides/adopt.md"
      : when === "never"
        ? "--no-rehearse was given"
        : when === "idle" && busy.length > 0
          ? `the rehearsal would lock tables that ${busy.join(", ")} may use now. Rehearse in a restored copy, or add --rehearse`
          : null;
    const rehearsal = notRehearsed ? null : await rehearse(tx, plan, { profile, vouched }, onStep);
    return { plan, rehearsal, notRehearsed, profile };
  });
}
