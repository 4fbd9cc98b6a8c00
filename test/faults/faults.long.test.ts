/**
 * Parts of the stand fail under load, and no acknowledged write may be lost, nor an answer go to another tenant. A few faults here;
 * `npm run test:faults` tries all of them and writes the table of docs/reference/faults.md.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ALL } from "../harness.ts";
import { Load, type Tally } from "./load.ts";
import { withoutPgbouncer } from "./pgbouncer.ts";
import { type Stand, startStand, withoutTmpfs } from "./stand.ts";

const writesPage = process.env.UPDATE_DOCS !== undefined;
/** Acknowledged writes for each fault. */
const WRITES = writesPage ? 520 : 40;
const TIMES = writesPage ? 3 : 1;

interface Fault {
  name: string;
  /** One time: the harm and its end. */
  harm(stand: Stand, load: Load): Promise<unknown>;
  /** Why it cannot be tried here. */
  without?: string | false;
  /** In every run of the tests. */
  quick?: true;
}

const FAULTS: Fault[] = [
  { name: "`kill -9` of Postgres", harm: stand => stand.killPostgres(), quick: true },
  { name: "`kill -9` of a database process of the service", harm: stand => stand.killBackend() },
  { name: "`kill -9` of the service", harm: stand => stand.killService(), quick: true },
  {
    name: "`kill -9` of PgBouncer",
    harm: stand => stand.killPooler(),
    without: withoutPgbouncer,
    quick: true,
  },
  {
    name: "TCP resets between the service and PgBouncer",
    harm: ({ toDatabase }) => often(() => toDatabase.reset()),
    quick: true,
  },
  {
    name: "TCP resets between clients and the service",
    harm: ({ toService }) => often(() => toService.reset()),
  },
  {
    name: "black hole between the service and PgBouncer, 4 s",
    harm: ({ toDatabase }) => blackHole(toDatabase, 4_000),
  },
  {
    name: "black hole between clients and the service, 2 s",
    harm: ({ toService }) => blackHole(toService, 2_000),
  },
  {
    name: "PgBouncer out of reach, 2 s",
    async harm({ toDatabase }) {
      toDatabase.refuse(true);
      toDatabase.cut();
      await sleep(2_000);
      toDatabase.refuse(false);
    },
  },
  {
    name: "full disk of Postgres, 2 s",
    without: withoutTmpfs,
    async harm(stand) {
      const empty = await stand.fillDisk();
      // The next segment of the WAL has no room either, and Postgres stops.
      await stand.sql`select pg_switch_wal()`.catch(() => {});
      await sleep(2_000);
      await empty();
    },
  },
  {
    name: "the service's clock an hour back, then an hour ahead",
    async harm(stand, load) {
      for (let moves = 0; moves < 3; moves++) {
        stand.moveClock();
        await load.acknowledges(20);
      }
    },
  },
  { name: "the service stands still for 2 s (`SIGSTOP`)", harm: stand => stand.pauseService(2_000) },
];

async function often(harm: () => void) {
  for (let i = 0; i < 10; i++) {
    harm();
    await sleep(50);
  }
}

async function blackHole(wire: Stand["toDatabase"], ms: number) {
  wire.freeze(true);
  await sleep(ms);
  // What was dropped is missing in these connections.
  wire.cut();
  wire.freeze(false);
}

const PAGE = path.resolve(import.meta.dirname, "../../docs/reference/faults.md");
const MARKED = /(?<=<!-- faults -->\n)[\s\S]*(?=<!-- \/faults -->)/;

interface Result {
  fault: Fault;
  times: number;
  tally?: Tally;
}

function table(results: Result[]): string {
  const rows = results.map(({ fault, times, tally }) =>
    tally
      ? [
          fault.name,
          times,
          tally.acknowledged,
          tally.lost,
          tally.foreign,
          tally.refused,
          tally.unanswered,
          `${(tally.pause / 1000).toFixed(1)} s`,
        ]
      : [fault.name, `not tried: ${fault.without}`, "", "", "", "", "", ""],
  );
  const sum = (of: "acknowledged" | "lost" | "foreign" | "refused" | "unanswered") =>
    results.reduce((total, { tally }) => total + (tally?.[of] ?? 0), 0);
  const head = [
    "fault",
    "times",
    "writes acknowledged",
    "lost",
    "answers in the wrong tenant",
    "503",
    "no answer",
    "longest pause",
  ];
  return [
    head,
    head.map((_, i) => (i === 0 ? "---" : "--:")),
    ...rows,
    [
      "**all**",
      results.reduce((n, { times }) => n + times, 0),
      sum("acknowledged"),
      sum("lost"),
      sum("foreign"),
      sum("refused"),
      sum("unanswered"),
      "",
    ],
  ]
    .map(
      cells =>
        `| ${cells.map(cell => (typeof cell === "number" ? cell.toLocaleString("en") : cell)).join(" | ")} |\n`,
    )
    .join("");
}

const names = ALL ? "every fault" : "faults";
test(`under ${names} no acknowledged write is lost, and no answer is another tenant's`, async context => {
  const stand = await startStand({ smallDisk: ALL && !withoutTmpfs });
  const results: Result[] = [];
  let load: Load | undefined;
  try {
    load = await Load.start(stand.address, stand.sql);
    for (const fault of FAULTS.filter(({ quick }) => ALL || quick)) {
      if (fault.without) {
        results.push({ fault, times: 0 });
        continue;
      }
      const tally = load.begin();
      for (let time = 0; time < TIMES; time++) {
        await load.acknowledges(WRITES / TIMES / 2);
        await fault.harm(stand, load);
        await load.acknowledges(WRITES / TIMES / 2);
      }
      results.push({ fault, times: TIMES, tally });
      if (ALL) console.log(`${fault.name}: ${JSON.stringify(tally)}`);
    }
    await load.end();
    await load.settle();
  } finally {
    await load?.end();
    await stand.end();
  }
  const found = table(results);
  console.log(found);
  for (const { fault, tally } of results)
    if (tally) {
      const { lost, foreign, wrong, acknowledged } = tally;
      assert.deepEqual(
        { lost, foreign, wrong: wrong.slice(0, 3) },
        { lost: 0, foreign: 0, wrong: [] },
        fault.name,
      );
      assert.ok(acknowledged >= WRITES);
    } else context.diagnostic(`not tried: ${fault.name}: ${fault.without}`);
  if (writesPage) writeFileSync(PAGE, readFileSync(PAGE, "utf8").replace(MARKED, found));
});

test("docs/reference/faults.md has a row for every fault", () => {
  const rows = MARKED.exec(readFileSync(PAGE, "utf8"))![0].split("\n").slice(2, -2);
  assert.deepEqual(
    rows.map(row => row.split(" | ")[0]!.slice(2)),
    FAULTS.map(({ name }) => name),
  );
});
