import { accessSync, constants, existsSync } from "node:fs";
import path from "node:path";
import type { CommandModule } from "yargs";
import { type Adoption, adopt as adoptDatabase } from "../adopt/adopt.ts";
import { type Answers, answersIn } from "../adopt/answers.ts";
import { toSql } from "../adopt/text.ts";
import { type Baseline, readBaseline, writeBaseline } from "../audit/baseline.ts";
import { requireAddress } from "../database/url.ts";
import { StartupError } from "../errors/startup-error.ts";
import { plain } from "../values/printable.ts";
import { flagOption, nameOption } from "./options.ts";
import { printLine } from "./output.ts";
import { endUnfinished, onParserFault, unfinished } from "./unfinished.ts";

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

/** A comma in quotes belongs to a name. */
const tablesIn = (list: string | undefined) =>
  list === undefined ? null : (list.match(/(?:"[^"]*"|[^",])+/g) ?? [list]).map(name => name.trim());

/** With null for each question that has no answer, so that a person sees where to answer. */
function savedAnswers({ plan }: Adoption, given: Answers): Answers {
  const open = (where: "tables" | "keys") =>
    Object.fromEntries(plan.questions.filter(one => one.in === where).map(({ about }) => [about, null]));
  return {
    role: plan.living.role,
    name: plan.name,
    slug: plan.slug,
    bridges: plan.bridges,
    tables: { ...open("tables"), ...given.tables },
    keys: { ...open("keys"), ...given.keys },
  };
}

/** Before the rehearsal, which may take long. @throws StartupError */
function requireWritable(file: string, answers: string | undefined) {
  const exists = existsSync(file);
  if (exists && file !== answers)
    throw new StartupError(
      `${file} exists. To update it, pass the same file with --answers; else choose another name`,
    );
  try {
    accessSync(exists ? file : path.dirname(file), constants.W_OK);
  } catch (error) {
    throw new StartupError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code})`);
  }
}

function save(
  file: string,
  adoption: Adoption,
  given: Answers,
  { vouched, accepted }: Baseline,
  replace: boolean,
) {
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
    `Written: ${file}. Replace each null with an answer and commit the file; tenancy audit --baseline ${file} audits by it`,
  );
}

/** 0: no questions, and the rehearsal passed. 1: a table failed, or there are questions. 2: not rehearsed. */
function exitStatus({ plan, rehearsal }: Adoption): number {
  if (!rehearsal) return 2;
  return plan.questions.length > 0 || rehearsal.verdicts.some(({ passed }) => !passed) ? 1 : 0;
}

export const adopt: CommandModule<object, Arguments> = {
  command: "adopt",
  describe: "Plan how tenants are isolated in a database that is in use, and rehearse the plan",
  builder: yargs =>
    yargs
      .option("plan", flagOption("Print the plan, as SQL to review. Nothing is changed"))
      .option("database", nameOption("database", "Address of the database, with a superuser's login"))
      .option("answers", nameOption("answers", "File with the answers, as --save wrote it"))
      .option(
        "save",
        nameOption("save", "Write answers, open questions and the audit's profile to this file"),
      )
      .option("tables", nameOption("tables", 'Adopt only these tables: public."Order",public."Line"'))
      .option("rehearse", {
        type: "boolean",
        describe: "Rehearse although other sessions are open; --no-rehearse: never",
      })
      .epilogue(
        "The rehearsal carries the plan out in one transaction, proves each table, and rolls back. It holds its locks until " +
          "then, so run it in a restored copy. Standard output is SQL. Exit status: 0 no questions and the rehearsal passed, 1 a " +
          "table failed or there are questions, 2 the plan was not rehearsed or could not be made. See docs/guides/adopt.md",
      )
      .fail(onParserFault),
  handler: async args => {
    process.on("uncaughtException", endUnfinished);
    try {
      if (!args.plan) throw new StartupError("Add --plan: adopt prints a plan, and does not carry it out");
      if (args.database === undefined)
        throw new StartupError("--database is missing: the address of the database");
      const url = requireAddress(args.database, "--database");
      const [saved, answered] = [args.save, args.answers].map(file => file && path.resolve(file));
      if (saved) requireWritable(saved, answered);
      const file: Baseline = args.answers ? readBaseline(args.answers) : { vouched: [], accepted: [] };
      const answers = answersIn(args.answers ?? "", file.adopt ?? {});
      const adoption = await adoptDatabase(
        url,
        "--database",
        {
          profile: file.profile ?? {},
          answers,
          vouched: file.vouched,
          only: tablesIn(args.tables),
          rehearse: args.rehearse === undefined ? "idle" : args.rehearse ? "always" : "never",
        },
        step => say(`\r\x1b[K${plain(step).slice(0, (process.stderr.columns || 80) - 1)}`),
      ).finally(() => say("\r\x1b[K"));
      await printLine(toSql(adoption));
      if (saved) save(saved, adoption, answers, file, saved === answered);
      process.exitCode = exitStatus(adoption);
    } catch (error) {
      unfinished(error);
    }
  },
};
