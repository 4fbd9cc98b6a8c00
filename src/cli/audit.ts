import type { CommandModule } from "yargs";
import { type Baseline, diffOf, readBaseline, readReport, writeBaseline } from "../audit/baseline.ts";
import { Definitions } from "../audit/definitions.ts";
import { toHtml } from "../audit/html.ts";
import { toJunit } from "../audit/junit.ts";
import { proposeProfile } from "../audit/prepare.ts";
import { prove, type Reader, whoReads } from "../audit/proof.ts";
import type { Audit } from "../audit/report.ts";
import { auditDatabase, runAudit } from "../audit/run.ts";
import { toSarif } from "../audit/sarif.ts";
import { toTap } from "../audit/tap.ts";
import { toText } from "../audit/text.ts";
import { VERSION } from "../config/version.ts";
import { requireAddress } from "../database/url.ts";
import { StartupError } from "../errors/startup-error.ts";
import { choiceOption, flagOption, nameOption, numberFrom, textOption } from "./options.ts";
import { printLine } from "./output.ts";
import { onOwnerDatabase } from "./owner.ts";
import { table } from "./table.ts";
import { endUnfinished, onParserFault, unfinished } from "./unfinished.ts";

const FORMATS = {
  text: toText,
  json: ({ report, diff, accepted = [], notes = [] }: Audit) => {
    const more = {
      ...(diff && { diff }),
      ...(accepted.length > 0 && { accepted }),
      ...(notes.length > 0 && { notes }),
    };
    return JSON.stringify({ ...report, ...more }, null, 2);
  },
  html: toHtml,
  // The files of whoever runs it: the code host shows the findings beside them.
  sarif: (audit: Audit) => toSarif(audit, new Definitions(process.cwd()), VERSION),
  junit: toJunit,
};

interface Arguments {
  tenant: string | undefined;
  format: keyof typeof FORMATS | "tap";
  only: "data" | "schema" | undefined;
  sample: string;
  diff: string | undefined;
  database: string | undefined;
  profile: string | undefined;
  "save-profile": string | undefined;
  baseline: string | undefined;
  "save-baseline": string | undefined;
  writes: boolean;
  "as-superuser": boolean;
  prove: string | undefined;
  seed: boolean;
  "who-reads": string | undefined;
}

/** 0: complete, no error found. 1: errors found. 2: the audit did not finish, so its result is neither of these. */
function exitStatus({ report, notRun }: Audit): number {
  return notRun.length > 0 ? 2 : report.summary.errors > 0 ? 1 : 0;
}

/** Progress and notes, on a terminal only. Standard output carries nothing but the report. */
function say(text: string) {
  if (process.stderr.isTTY) process.stderr.write(text);
}

const sampleOf = (sample: string) =>
  sample === "all" ? 1_000_000 : numberFrom(sample, "sample", "a number of tenants, or all");

const NOT_OF_THE_PROOF = ["tenant", "only", "diff", "baseline", "save-baseline", "save-profile"] as const;

/** `stores`: in this service's own database the result stays. Nothing else is changed. */
async function audited(args: Arguments, url: string, what: string, stores: boolean): Promise<void> {
  const file: Baseline = args.baseline ? readBaseline(args.baseline) : { vouched: [], accepted: [] };
  const profile = (args.profile ? readBaseline(args.profile).profile : file.profile) ?? null;
  if (args.profile && !profile) throw new StartupError(`${args.profile} has no profile`);
  const before = args.diff === undefined ? undefined : readReport(args.diff);
  const request = {
    tenant: args.tenant,
    only: args.only,
    sample: sampleOf(args.sample),
    writes: args.writes,
    asSuperuser: args["as-superuser"],
    seed: args.seed,
    profile,
    baseline: file,
  };
  if (args["who-reads"]) {
    const readers = await whoReads(url, what, args["who-reads"], request);
    await printLine(args.format === "json" ? JSON.stringify(readers, null, 2) : readersTable(readers));
    return;
  }
  if (args.format === "tap" || args.prove) {
    if (args.format !== "tap") throw new StartupError("--prove prints its claims with --format tap");
    const other = NOT_OF_THE_PROOF.find(name => args[name]);
    if (other) throw new StartupError(`--format tap prints the proof alone: --${other} has no meaning there`);
    const claims = await prove(url, what, args.prove ?? null, request);
    await printLine(toTap(claims));
    const fails = claims.some(({ result }) => result !== "proved" && result !== "not proved");
    // What was not tried is not proved.
    process.exitCode = fails ? 1 : claims.some(({ result }) => result === "proved") ? 0 : 2;
    return;
  }
  if (args["save-profile"]) {
    const proposed = profile ?? (await proposeProfile(url, what));
    writeBaseline(args["save-profile"], { profile: proposed, vouched: [], accepted: [] });
    console.error(`Written: ${args["save-profile"]}. Read and correct it before you rely on it`);
  }
  // What was made for the proof is not what the database holds.
  const run = stores && !args.seed && !args.profile ? runAudit : auditDatabase;
  const outcome = await run(url, what, request, ({ n, of, step }) =>
    say(`\r\x1b[K${n}/${of}  ${step}`),
  ).finally(() => say("\r\x1b[K"));
  const { audit } = outcome;
  if (outcome.proposed && !args["save-profile"])
    console.error(
      `The catalog proposes this profile. Save it with --save-profile FILE, correct it, and pass it with --profile FILE:\n${JSON.stringify(outcome.profile, null, 2)}`,
    );
  if (before) audit.diff = diffOf(before, audit.report);
  if (args["save-baseline"]) {
    const accepted = [...file.accepted, ...outcome.acceptable];
    writeBaseline(args["save-baseline"], { ...(profile && { profile }), vouched: file.vouched, accepted });
    console.error(`Written: ${args["save-baseline"]}. Give each line a reason, or take it out`);
  }
  await printLine(FORMATS[args.format](audit));
  process.exitCode = exitStatus(audit);
}

const readersTable = (readers: Reader[]) =>
  table(
    ["ROLE", "LOGIN", "READS", "BY"],
    readers.map(({ role, login, reads, path }) => [role, login ? "yes" : "no", reads, path]),
  );

export const audit: CommandModule<object, Arguments> = {
  command: "audit",
  describe: "Prove that tenants are isolated, or show where they are not",
  builder: yargs =>
    yargs
      .option("tenant", nameOption("tenant", "Slug of a tenant: check only its rows"))
      .option("format", {
        ...choiceOption(
          ["text", "json", "html", "sarif", "junit", "tap"],
          "text for people, json for programs, html as a page to mail, sarif and junit for pipelines; tap: the proof alone",
        ),
        default: "text" as const,
      })
      .option("only", choiceOption(["data", "schema"], "Run one family of checks"))
      .option("sample", {
        ...textOption("Number of tenants in which the proof runs, or all"),
        default: "20",
      })
      .option(
        "diff",
        nameOption("diff", "An earlier report (--format json): say what was opened and closed since"),
      )
      .option("database", nameOption("database", "Address of any Postgres; nothing in it is changed"))
      .option("profile", nameOption("profile", "File with what the audit must be told of that database"))
      .option(
        "save-profile",
        nameOption(
          "save-profile",
          "Write the profile that was used, or that the catalog proposes, to this file",
        ),
      )
      .option(
        "baseline",
        nameOption("baseline", "File with what was reviewed: only what is not in it counts"),
      )
      .option(
        "save-baseline",
        nameOption("save-baseline", "Write the findings to this file, for you to give reasons"),
      )
      .option("writes", flagOption("The proof tries to write, too. What is written is undone; triggers fire"))
      .option(
        "as-superuser",
        flagOption("Run as a superuser, where you trust every function of the database"),
      )
      .option("seed", flagOption("Make rows in empty tables for the proof, and undo them"))
      .option("who-reads", nameOption("who-reads", "A tenant: print which roles can read its rows, and how"))
      .option("prove", nameOption("prove", "With --format tap: the table to prove"))
      .epilogue(
        "DATABASE_URL is tms_owner's login, or that of a member of tms_auditor; without it the " +
          "embedded Postgres is audited, whether it runs or not. --database is another database's address. Exit status: 0 no " +
          "error found, 1 errors found, 2 the audit could not finish.",
      )
      .fail(onParserFault),
  handler: async args => {
    process.on("uncaughtException", endUnfinished);
    try {
      sampleOf(args.sample);
      if (args.database !== undefined)
        return await audited(args, requireAddress(args.database, "--database"), "--database", false);
      const login = "tms_owner's login or that of a member of tms_auditor";
      await onOwnerDatabase(
        line => say(`${line}\n`),
        { login },
        ({ url }) => audited(args, url, "DATABASE_URL", true),
      );
    } catch (error) {
      unfinished(error);
    }
  },
};
