/** What an attacker may keep up against an instance, and what another tenant's member sees meanwhile. */
import { fork } from "node:child_process";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** A member asks so often, on connections of its own. */
const EVERY_MS = 10;

export interface Asked {
  p95: number;
  /** Of a health check ten times a second, milliseconds. */
  healthMs: number;
  requests: number;
  refused: number;
}

/** What an attacker keeps up: sockets on loopback that say this, again when they end. */
export interface Attack {
  name: string;
  sockets: number;
  says: string;
  /** Sends a little more now and then. */
  drips?: string;
  reads: boolean;
  /** So many requests are said at once, and again when they are answered. */
  floods?: number;
}

const head = (line: string, ...more: string[]) =>
  [`${line} HTTP/1.1`, "host: x", ...more, "", ""].join("\r\n");
const body = ["content-type: application/json", "content-length: 1000"];
const json = (line: string, value: unknown, ...more: string[]) => {
  const text = JSON.stringify(value);
  const length = `content-length: ${Buffer.byteLength(text)}`;
  return head(line, "content-type: application/json", length, ...more) + text;
};

/** A settings schema as operators write it: what the pattern costs doubles with each letter. */
export const SETTINGS = { properties: { words: { pattern: "^(\\w+\\s?)*$", "x-tenant-writable": true } } };

/** `mallory` is the header of an owner, whose settings have the pattern of `SETTINGS`. */
export const attacksOf = (idle: number, mallory: string): Attack[] => [
  {
    name: "bodies that never come, no token",
    sockets: 1_000,
    says: head("POST /nothing", ...body),
    reads: true,
  },
  {
    name: "slow headers",
    sockets: 1_000,
    says: "GET / HTTP/1.1\r\nhost: x\r\n",
    drips: "x: y\r\n",
    reads: true,
  },
  {
    name: "slow bodies, another member",
    sockets: 1_000,
    says: head("POST /graphql", mallory, ...body),
    drips: "{",
    reads: true,
  },
  {
    name: "slow readers",
    sockets: 300,
    says: head("GET /docs/static/swagger-ui-bundle.js").repeat(4),
    reads: false,
  },
  { name: "idle connections", sockets: idle, says: "", reads: true },
  {
    name: "pipelined floods, no token",
    sockets: 50,
    says: head("GET /nothing").repeat(30),
    reads: true,
    floods: 30,
  },
  {
    name: "pipelined floods, another member",
    sockets: 50,
    says: head("GET /api/tenants/current", mallory).repeat(30),
    reads: true,
    floods: 30,
  },
  {
    name: "a settings pattern that takes for ever, another owner",
    sockets: 16,
    says: json("PATCH /api/tenants/current", { settings: { words: `${"a".repeat(40)}!` } }, mallory),
    reads: true,
    floods: 1,
  },
  {
    name: "bodies of 60,000 values, another owner",
    sockets: 16,
    says: json("POST /api/tenants/members", { a: Array(60_000).fill(1) }, mallory),
    reads: true,
    floods: 1,
  },
  {
    name: "queries of 14,000 variables, another owner",
    sockets: 16,
    says: json(
      "POST /graphql",
      { query: "{ tenant { slug } }", variables: { a: Array(14_000).fill(1) } },
      mallory,
    ),
    reads: true,
    floods: 1,
  },
  {
    name: "event streams, another owner",
    sockets: 50,
    says: head("GET /api/tenants/events", "accept: text/event-stream", mallory),
    reads: true,
  },
  {
    name: "invitations without end, another owner",
    sockets: 16,
    says: json("POST /api/tenants/invitations", { role: "member" }, mallory),
    reads: true,
    floods: 1,
  },
];

/** Requests at a steady pace, whether or not the last one is answered; what takes longer than 5 s, or is no 200, is refused. */
export async function ask({ hostname, port }: URL, authorization: string, seconds: number): Promise<Asked> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
  // Whoever watches the service has not the attacker's address, whose share is used up. Elsewhere loopback has one address.
  const watcher = process.platform === "linux" ? { localAddress: "127.0.0.2" } : {};
  const health = new http.Agent({ keepAlive: true, maxSockets: 1, ...watcher });
  const headers = { authorization: authorization.slice("authorization: ".length) };
  const times: number[] = [];
  let refused = 0;
  const one = () =>
    new Promise<void>(resolve => {
      const from = performance.now();
      const failed = () => {
        refused++;
        times.push(performance.now() - from);
        resolve();
      };
      http
        .get({ hostname, port, path: "/api/boards?limit=20", agent, headers, timeout: 5_000 }, answer => {
          answer.resume().once("end", () => {
            if (answer.statusCode !== 200) return failed();
            times.push(performance.now() - from);
            resolve();
          });
        })
        .once("timeout", function ended(this: http.ClientRequest) {
          this.destroy(new Error("no answer"));
        })
        .once("error", failed);
    });
  let healthMs = 0;
  const look = async () => {
    const from = performance.now();
    const healthy = await new Promise<boolean>(resolve => {
      const request = http
        .get({ hostname, port, path: "/health", agent: health, timeout: 5_000 }, answer =>
          answer.resume().once("end", () => resolve(answer.statusCode === 200)),
        )
        .once("timeout", () => request.destroy(new Error("no answer")))
        .once("error", () => resolve(false));
    });
    healthMs = Math.max(healthMs, healthy ? performance.now() - from : Number.POSITIVE_INFINITY);
  };
  const asked: Promise<void>[] = [];
  const until = performance.now() + seconds * 1_000;
  for (let due = performance.now(); due < until; due += EVERY_MS) {
    await sleep(Math.max(0, due - performance.now()));
    asked.push(one());
    if (asked.length % 10 === 0) asked.push(look());
  }
  await Promise.all(asked);
  agent.destroy();
  health.destroy();
  times.sort((a, b) => a - b);
  return { p95: times[Math.floor(times.length * 0.95)]!, healthMs, requests: times.length, refused };
}

/** In a process of its own, the compiled attack.ts, so that it does not delay what measures. Returns what ends it. */
export async function begin(attack: Attack, program: string, { href }: URL): Promise<() => Promise<void>> {
  const child = fork(program, [JSON.stringify(attack), href]);
  await new Promise<void>((resolve, reject) => {
    child.once("message", () => resolve());
    child.once("exit", code => reject(new Error(`the attack ended with ${code}`)));
  });
  return async () => {
    child.removeAllListeners("exit").kill();
    await sleep(1_000);
  };
}
