/** /docs and the audit's report in a real browser. Skipped, with the reason, without an installed Chromium. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { toHtml } from "../../src/audit/html.ts";
import { runAudit } from "../../src/audit/run.ts";
import {
  createDatabase,
  createService,
  type Database,
  type Service,
  seedTenant,
  seedUser,
  token,
} from "../harness.ts";
import { until } from "../until.ts";

const chromium = ["chromium", "chromium-browser", "google-chrome"].find(
  program => spawnSync(program, ["--version"]).status === 0,
);
const skip = chromium ? false : "no Chromium is installed here (Debian: apt-get install chromium)";
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-dev-shm-usage",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-background-timer-throttling",
  "--disable-renderer-backgrounding",
  "--disable-backgrounding-occluded-windows",
  "--remote-debugging-pipe",
];

type Json = Record<string, unknown>;

/** The DevTools protocol over two pipes: JSON that ends with a NUL. */
class Browser {
  readonly events: { method: string; params: Json }[] = [];
  readonly #child: ChildProcess;
  readonly #folder = mkdtempSync(path.join(tmpdir(), "tms-chromium-"));
  readonly #waiting = new Map<number, { resolve: (result: Json) => void; reject: (error: Error) => void }>();
  #session: string | undefined;
  #target: string | undefined;
  #id = 0;

  constructor() {
    this.#child = spawn(chromium!, [...FLAGS, `--user-data-dir=${this.#folder}`, "about:blank"], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    this.#child.on("close", code => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`Chromium ended with ${code}`));
    });
    let text = "";
    (this.#child.stdio[4] as NodeJS.ReadableStream).setEncoding("utf8").on("data", chunk => {
      text += chunk;
      for (let end = text.indexOf("\0"); end >= 0; end = text.indexOf("\0")) {
        this.#take(JSON.parse(text.slice(0, end)));
        text = text.slice(end + 1);
      }
    });
  }

  #take(message: { id?: number; method: string; params: Json; result?: Json; error?: { message: string } }) {
    if (message.id === undefined) return void this.events.push(message);
    const waiting = this.#waiting.get(message.id)!;
    this.#waiting.delete(message.id);
    if (message.error) waiting.reject(new Error(message.error.message));
    else waiting.resolve(message.result!);
  }

  send(method: string, params: Json = {}): Promise<Json> {
    const id = ++this.#id;
    const sessionId = this.#session;
    (this.#child.stdio[3] as NodeJS.WritableStream).write(
      `${JSON.stringify({ id, method, params, sessionId })}\0`,
    );
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  async open(url: string, width: number, scheme: "light" | "dark"): Promise<void> {
    this.#session = undefined;
    if (this.#target) await this.send("Target.closeTarget", { targetId: this.#target });
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    this.#target = targetId as string;
    this.#session = (await this.send("Target.attachToTarget", { targetId, flatten: true }))
      .sessionId as string;
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await this.send(`${domain}.enable`);
    await this.send("Emulation.setDeviceMetricsOverride", {
      width,
      height: 900,
      deviceScaleFactor: 1,
      mobile: width < 500,
    });
    await this.send("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: scheme }],
    });
    await this.send("Page.navigate", { url });
  }

  /** The value of an expression in the page, once it is neither null nor false. */
  until<T>(expression: string): Promise<T> {
    return until<T | undefined>(expression, async () => {
      const { result } = (await this.send("Runtime.evaluate", { expression, returnByValue: true })) as {
        result: { value?: T };
      };
      return result.value;
    }) as Promise<T>;
  }

  click(selector: string): Promise<boolean> {
    return this.until(
      `(one => one && (one.click(), true))(document.querySelector(${JSON.stringify(selector)}))`,
    );
  }

  async close(): Promise<void> {
    const ended = new Promise(resolve => this.#child.on("close", resolve));
    // Killing it would leave child processes that still write.
    this.#session = undefined;
    await this.send("Browser.close").catch(() => this.#child.kill("SIGKILL"));
    await ended;
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20 });
  }
}

let database: Database;
let service: Service;
let browser: Browser;
let url: string;

before(async () => {
  if (skip) return;
  database = await createDatabase();
  service = await createService(database);
  await service.app.listen({ host: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${(service.app.server.address() as AddressInfo).port}`;
  await seedUser(database.sql, await seedTenant(database.sql, { slug: "acme" }), { subject: "ada" });
  browser = new Browser();
});
after(async () => {
  await browser?.close();
  await service?.close();
  await database?.drop();
});

/** Requests of the page to other hosts, and its errors. */
function faults(): string[] {
  return browser.events.flatMap(({ method, params }) => {
    if (method === "Network.requestWillBeSent") {
      const asked = (params.request as { url: string }).url;
      return asked.startsWith(url) || asked.startsWith("data:") || asked === "about:blank" ? [] : [asked];
    }
    if (method === "Log.entryAdded") return [JSON.stringify(params.entry)];
    return method === "Runtime.exceptionThrown" ? [JSON.stringify(params)] : [];
  });
}

/** Opens an operation, and executes it once the page has loaded it: an earlier click is lost. */
async function tryOut(operation: string): Promise<{ status: string; body: string }> {
  await browser.click(`${operation} .opblock-summary-control`);
  await browser.until(`document.querySelectorAll("${operation} .response .highlight-code").length > 3`);
  await new Promise(resolve => setTimeout(resolve, 1_000));
  await browser.click(`${operation} .btn.execute`);
  return browser.until(
    `(([status, body]) => status && body && { status, body })([".response-col_status", ".highlight-code"].map(part =>
      document.querySelector("${operation} .live-responses-table tr.response " + part)?.innerText.trim()))`,
  );
}

test("after filling in token and tenant once, a request from the page succeeds, and the browser keeps neither", {
  skip,
}, async () => {
  await browser.open(`${url}/docs`, 1280, "light");
  await browser.click(".btn.authorize");
  const ada = await token({ sub: "ada" });
  await browser.until(`document.querySelectorAll(".modal-ux input").length === 2`);
  for (const [number, text] of [
    [1, ada],
    [2, "acme"],
  ] as const) {
    const form = `document.querySelectorAll(".modal-ux .auth-container")[${number - 1}]`;
    await browser.until(`(one => one && (one.focus(), true))(${form}.querySelector("input"))`);
    await browser.send("Input.insertText", { text });
    await browser.until(`(one => one && (one.click(), true))(${form}.querySelector("button.authorize"))`);
  }
  await browser.click(".modal-ux .btn-done");
  const { status, body } = await tryOut("#operations-Tenants-getCurrentTenant");
  assert.equal(status, "200");
  assert.match(body, /"slug": "acme"/);
  assert.deepEqual(faults(), []);

  const pale = await browser.until<
    string[]
  >(`[".btn.execute", ".opblock-summary-method", ".info .url"].filter(name => {
    const light = color => color.match(/\\d+/g).slice(0, 3).map(part => (part / 255) ** 2.2)
      .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0.05);
    return [...document.querySelectorAll(name)].some(one => {
      const { color, backgroundColor } = getComputedStyle(one);
      const ground = backgroundColor === "rgba(0, 0, 0, 0)" ? "255 255 255" : backgroundColor;
      const [dim, bright] = [light(color), light(ground)].sort((a, b) => a - b);
      return bright / dim < 4.5;
    });
  })`);
  assert.deepEqual(pale, [], "4.5 : 1, as WCAG asks");

  await browser.open(`${url}/docs`, 1280, "light");
  assert.ok(await browser.until(`document.querySelector(".btn.authorize.unlocked") !== null`));
  assert.equal(
    await browser.until(`String(localStorage.length + sessionStorage.length)`),
    "0",
    "no token stays",
  );
});

test("the page has a dark mode, fits a phone, and logs no error", {
  skip,
}, async () => {
  browser.events.length = 0;
  await browser.open(`${url}/docs`, 390, "dark");
  await browser.until(`document.querySelectorAll(".opblock").length > 20`);
  await browser.click("#operations-Setup-listTenants .opblock-summary-control");
  await browser.until(`document.querySelector("#operations-Setup-listTenants .responses-table") !== null`);
  assert.ok(await browser.until(`document.documentElement.scrollWidth <= 390`));
  const [ground, ink] = await browser.until<[string, string]>(
    `[document.documentElement, document.querySelector(".swagger-ui .info .title")].map((one, i) =>
      getComputedStyle(one)[i === 0 ? "backgroundColor" : "color"])`,
  );
  const brightness = (color: string) => Math.max(...color.match(/\d+/g)!.slice(0, 3).map(Number));
  assert.ok(brightness(ground) < 64 && brightness(ink) > 192, `${ink} on ${ground}`);
  assert.deepEqual(faults(), []);
});

test("the audit's report fits a phone, down to its last column", { skip }, async () => {
  const { audit } = await runAudit(database.urls.owner, "DATABASE_URL", { only: "schema", sample: 1 });
  const page = toHtml(audit);
  await browser.open(`data:text/html;base64,${Buffer.from(page).toString("base64")}`, 360, "light");
  const [columns, place] = await browser.until<[number, number]>(
    `((table, place) => table && [table.scrollWidth, place.clientWidth])(...[".checks", ".scroll:has(.checks)"].map(name => document.querySelector(name)))`,
  );
  assert.ok(columns <= place, `${columns} of ${place}`);
});
