import { existsSync } from "node:fs";
import path from "node:path";
import type { CommandModule } from "yargs";
import { type Adoption, adopt as adoptDatabase } from "../adopt/adopt.ts";
import { type Answers, answersIn } from "../adopt/answers.ts";
import { toSql } from "../adopt/text.ts";
import { type Baseline, readBaseline, writeBaseline } from "../audit/baseline.ts";
import { requireAddress } from "../database/url.ts";
import { StartupError, tell } from "../errors/startup-error.ts";
import { flagOption, nameOption } from "./options.ts";
import { printLine } from "./output.ts";

interface Arguments {
  plan: boolean;
  database: string | undefined;
  answers: string | undefined;
  save: string | undefined;
  tables: string | undefined;
  rehearse: boolean | undefined;
}

function say(text: string) {
  if (process.stderr.isTTY) process.stderr.write(text);
}

/** With null for what is open, so that a person sees where to answer. */
function savedAnswers({ plan }: Adoption, given: Answers): Answers {
  const open = (where: "tables" | "keys") =>
    Object.fromEntries(plan.questions.filter(one => one.in === where).map(({ about }) => [about, null]));
  return {
    role: plan.living.role,
    name: plan.name,
    slug: plan.slug,
    bridges: plan.bridges,
    tables: { ...given.tables, ...open("tables") },
    keys: { ...given.keys, ...open("keys") },
  };
}

function save(
  file: string,
  adoption: Adoption,
  given: Answers,
  { vouched, accepted }: Baseline,
  answersFile?: string,
) {
  const replace = answersFile !== undefined && path.resolve(answersFile) === path.resolve(file);
  const adopt = savedAnswers(adoption, given);
  writeBaseline(
    file,
    {
      profile: adoption.profile,
      adopt: { ...adopt },
      vouched: adoption.rehearsal?.vouched ?? vouched,
      accepted,
    },
    { replace },
  );
  console.error(
    `Written: ${file}. Answer what is null in it, commit it, and audit with tenancy audit --profile ${file}`,
  );
}

/** 0: nothing is asked, and the rehearsal passed. 1: a table failed, or something is asked. 2: it was not rehearsed. */
function exitStatus({ plan, rehearsal }: Adoption): number {
  if (!rehearsal) return 2;
  return plan.questions.length > 0 || rehearsal.verdicts.some(({ passed }) => !passed) ? 1 : 0;
}

export const adopt: CommandModule<object, Arguments> = {
  command: "adopt",
  describe: "Plan how tenants are isolated in a database that lives, and rehearse the plan",
  builder: yargs =>
    yargs
      .option("plan", flagOption("Print the plan, as SQL to review. Nothing is changed"))
      .option("database", nameOption("database", "Address of the database, by an administrator's login"))
      .option("answers", nameOption("answers", "File with what was answered before"))
      .option(
        "save",
        nameOption("save", "Write answers and open questions, with the audit's profile, to this file"),
      )
      .option("tables", nameOption("tables", 'Adopt these alone: public."Order",public."Line"'))
      .option("rehearse", {
        type: "boolean",
        describe: "Rehearse although others are at work; --no-rehearse: never",
      })
      .epilogue(
        "The rehearsal carries the plan out in one transaction, proves it table by table, and rolls it back; its locks are held until " +
          "then, so run it in a restored copy. Standard output is SQL: what is no statement is a comment. Exit status: 0 " +
          "nothing is asked and the rehearsal passed, 1 a table failed or something is asked, 2 the plan was not rehearsed or " +
          "could not be made. docs/guides/adopt.md",
      ),
  handler: async args => {
    try {
      if (!args.plan) throw new StartupError("Say --plan: adopt prints a plan, and carries none out");
      if (args.database === undefined)
        throw new StartupError("--database, the address of the database, is missing");
      const url = requireAddress(args.database, "--database");
      if (args.save && existsSync(args.save) && args.save !== args.answers)
        throw new StartupError(
          `${args.save} is there already: pass it with --answers too, and it is brought up to date`,
        );
      const file: Baseline = args.answers ? readBaseline(args.answers) : { vouched: [], accepted: [] };
      const answers = answersIn(args.answers ?? "", file.adopt ?? {});
      const adoption = await adoptDatabase(
        url,
        "--database",
        {
          profile: file.profile ?? {},
          answers,
          vouched: file.vouched,
          only: args.tables?.split(",").map(name => name.trim()) ?? null,
          rehearse: args.rehearse === undefined ? "idle" : args.rehearse ? "always" : "never",
        },
        step => say(`\r\x1b[K${step.slice(0, (process.stderr.columns || 80) - 1)}`),
      ).finally(() => say("\r\x1b[K"));
      if (args.save) save(args.save, adoption, answers, file, args.answers);
      await printLine(toSql(adoption));
      process.exitCode = exitStatus(adoption);
    } catch (error) {
      tell(error);
      process.exitCode = 2;
    }
  },
};
