import type { CommandModule } from "yargs";
import { diffOf, readReport } from "../audit/baseline.ts";
import { Definitions } from "../audit/definitions.ts";
import { toHtml } from "../audit/html.ts";
import { toJunit } from "../audit/junit.ts";
import { progressLine } from "../audit/progress.ts";
import { type Audit, type Progress, runAudit, type Scope } from "../audit/run.ts";
import { toSarif } from "../audit/sarif.ts";
import { toText } from "../audit/text.ts";
import { VERSION } from "../config/version.ts";
import { tell } from "../errors/startup-error.ts";
import { choiceOption, nameOption, numberFrom, textOption } from "./options.ts";
import { printLine } from "./output.ts";
import { onOwnerDatabase } from "./owner.ts";

const FORMATS = {
  text: toText,
  json: ({ report, diff }: Audit) => JSON.stringify({ ...report, ...(diff && { diff }) }, null, 2),
  html: toHtml,
  // The files of whoever runs it: the code host shows the findings beside them.
  sarif: (audit: Audit) => toSarif(audit, new Definitions(process.cwd()), VERSION),
  junit: toJunit,
};

interface Arguments {
  tenant: string | undefined;
  format: keyof typeof FORMATS;
  only: "data" | "schema" | undefined;
  sample: string;
  diff: string | undefined;
}

/** 0: complete, no error found. 1: errors found. 2: the audit did not finish, so its result is neither of these. */
function exitStatus({ report, notRun }: Audit): number {
  return notRun.length > 0 ? 2 : report.summary.errors > 0 ? 1 : 0;
}

/** Progress and notes, on a terminal only. Standard output carries nothing but the report. */
function say(text: string) {
  if (process.stderr.isTTY) process.stderr.write(text);
}

/** A progress line that overwrites itself; `end` keeps the last one and moves to the next line. */
function progressBar(): { show: (progress: Progress) => void; end: () => void } {
  const started = Date.now();
  let rows = 0;
  let findings = 0;
  let shown = false;
  return {
    show: progress => {
      rows += progress.rows;
      findings += progress.findings;
      const seconds = (Date.now() - started) / 1000;
      say(`\r\x1b[K${progressLine({ ...progress, rows, findings }, seconds, process.stderr.columns || 80)}`);
      shown = true;
    },
    end: () => {
      if (shown) say("\n");
    },
  };
}

function scopeFrom({ tenant, only, sample }: Arguments): Scope {
  return {
    tenant,
    only,
    sample: sample === "all" ? null : numberFrom(sample, "sample", "a number of tenants, or all"),
  };
}

function cannot(error: unknown) {
  tell(error);
  process.exitCode = 2;
}

function end(error: unknown): never {
  cannot(error);
  process.exit();
}

export const audit: CommandModule<object, Arguments> = {
  command: "audit",
  describe: "Prove that tenants are isolated, or show where they are not",
  builder: yargs =>
    yargs
      .option("tenant", nameOption("tenant", "Slug of a tenant: check only its rows"))
      .option("format", {
        ...choiceOption(
          ["text", "json", "html", "sarif", "junit"],
          "text for people, json for programs, html as a page to mail, sarif and junit for pipelines",
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
        nameOption("diff", "A report before (--format json): say what was opened and what was closed since"),
      )
      .epilogue(
        "DATABASE_URL is tms_owner's login, or that of a member of tms_auditor; without it the " +
          "embedded Postgres is audited, whether it runs or not. Exit status: 0 no error found, " +
          "1 errors found, 2 the audit could not finish.",
      )
      .fail((message, error) => end(error ?? new Error(message))),
  handler: async args => {
    process.on("uncaughtException", end); // the driver may throw outside of any promise
    try {
      const scope = scopeFrom(args);
      const before = args.diff === undefined ? undefined : readReport(args.diff);
      const login = "tms_owner's login or that of a member of tms_auditor";
      await onOwnerDatabase(
        line => say(`${line}\n`),
        { login },
        async ({ url }) => {
          const bar = process.stderr.isTTY ? progressBar() : undefined;
          const result = await runAudit(url, scope, bar?.show).finally(bar?.end);
          if (before) result.diff = diffOf(before, result.report);
          await printLine(FORMATS[args.format](result));
          process.exitCode = exitStatus(result);
        },
      );
    } catch (error) {
      cannot(error);
    }
  },
};
