/** A real Chromium on the real service: what the console's tests share. Skipped, with the reason, where none is installed. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import axe from "axe-core";
import {
  type Browser,
  type BrowserContextOptions,
  type BrowserServer,
  chromium,
  type Locator,
  type Page,
} from "playwright-core";
import { until } from "../until.ts";

const program = ["chromium", "chromium-browser", "google-chrome"].find(
  name => spawnSync(name, ["--version"]).status === 0,
);
export const skip = program ? false : "no Chromium is installed here (Debian: apt-get install chromium)";

/** Generous: machines that run tests are busy. */
export const PATIENCE_MS = 30_000;

const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-dev-shm-usage",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** One Chromium for all files of a run. test/suite.ts starts it, and stops it. */
export async function serveBrowser(): Promise<BrowserServer> {
  const found = spawnSync("which", [program!], { encoding: "utf8" }).stdout.trim();
  return chromium.launchServer({ executablePath: found, args: ARGS, timeout: 60_000 });
}

/** A refusal that the page shows in words; Chromium logs it too. */
const EXPECTED = /^Failed to load resource: the server responded with a status of (4\d\d|503)/;

/** A person at the console, in a tab of their own. */
export class Visitor {
  /** Errors and warnings of the page, breaches of its policy, requests to other hosts. */
  readonly faults: string[] = [];
  /** What axe-core found, by the page's heading. */
  readonly violations: string[] = [];

  private constructor(
    readonly page: Page,
    readonly url: string,
    readonly others: readonly string[],
  ) {
    page.setDefaultTimeout(PATIENCE_MS);
    // A provider's own pages are none of ours.
    const note = (fault: string) => page.url().startsWith(url) && this.faults.push(fault);
    page.on("console", message => {
      if (["error", "warning"].includes(message.type()) && !EXPECTED.test(message.text()))
        note(message.text());
    });
    page.on("pageerror", error => note(error.message));
    page.on("request", request => {
      if (![url, ...others].some(one => request.url().startsWith(one)) && !request.url().startsWith("data:"))
        note(`a request to ${request.url()}`);
    });
  }

  /** `others`: addresses beside the service's that the page may ask. */
  static async arrive(
    browser: Browser,
    url: string,
    { others = [], ...options }: BrowserContextOptions & { others?: string[] } = {},
  ): Promise<Visitor> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    return new Visitor(await context.newPage(), url, others);
  }

  /** By a link like the demo's, in place of whoever is signed in. */
  async signIn(token: string): Promise<void> {
    await this.page.goto(`${this.url}/console/#token=${token}`);
    await this.page.locator(".frame h1").waitFor();
    if ((await this.dialog().count()) > 0) await this.press("Sign in with the link", this.dialog());
    await this.page.locator(".frame h1").waitFor();
  }

  /** What the page keeps in this browser, as text. */
  stored(): Promise<string> {
    return this.page.evaluate<string>("JSON.stringify([{ ...sessionStorage }, { ...localStorage }])");
  }

  /** The tab, copied by the browser with its storage. */
  async duplicate(): Promise<Visitor> {
    const opened = this.page.context().waitForEvent("page");
    await this.page.evaluate("window.open(location.href) && 0");
    return new Visitor(await opened, this.url, this.others);
  }

  /** Opens a page of the console, and waits for its heading. */
  async open(hash: string, heading: string | RegExp): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    await this.heading(heading);
  }

  heading(name: string | RegExp): Promise<void> {
    return this.page.getByRole("heading", { name, level: 1 }).waitFor();
  }

  button(name: string | RegExp, within: Page | Locator = this.page): Locator {
    return within.getByRole("button", { name, exact: typeof name === "string" });
  }

  press(name: string | RegExp, within?: Locator): Promise<void> {
    return this.button(name, within).click();
  }

  /** An entry of the menu on a tenant's page. */
  async choose(entry: string): Promise<void> {
    await this.page.locator(".menu summary").click();
    await this.press(entry);
  }

  dialog(): Locator {
    return this.page.getByRole("dialog");
  }

  /** An expression of the page comes true. Playwright's own way needs `eval`, which the page's policy forbids. */
  async becomes(expression: string): Promise<void> {
    await until(expression, () => this.page.evaluate<boolean>(expression));
  }

  /** A text that appears. */
  sees(text: string | RegExp, within: Page | Locator = this.page): Promise<void> {
    return within.getByText(text).first().waitFor();
  }

  /** Runs axe-core on what the page shows now, and sees that it fits. */
  async check(): Promise<void> {
    const { page } = this;
    await until(
      "the page is loaded",
      async () => (await page.locator(".loading, button:disabled:has-text('Working')").count()) === 0,
    );
    if (!(await page.evaluate("typeof axe === 'object'"))) await page.evaluate(axe.source);
    const found = await page.evaluate<axe.AxeResults>(
      "axe.run(document, { resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })",
    );
    const title = await page.title();
    for (const { id, nodes } of found.violations)
      this.violations.push(`${title}: ${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
    // Screen readers read a title after the name.
    const twice = await page.evaluate<string[]>(
      "[...document.querySelectorAll('[aria-label][title]')].filter(e => e.title === e.ariaLabel).map(e => e.title)",
    );
    for (const name of twice) this.violations.push(`${title}: ${name} is read twice`);
    await this.fits();
  }

  /** Sees that nothing is wider than the window, or than the dialog. */
  async fits(): Promise<void> {
    const { page } = this;
    for (const of of ["document.documentElement", "document.querySelector('dialog')"]) {
      const [width, room] = await page.evaluate<[number, number]>(`[${of}?.scrollWidth, ${of}?.clientWidth]`);
      if (width > room)
        this.violations.push(`${await page.title()}: ${width} px wide, with room for ${room}`);
    }
  }

  /** Fails the test if the page did anything wrong since the last time. */
  assertFine(): void {
    assert.deepEqual(
      { faults: this.faults.splice(0), violations: this.violations.splice(0) },
      { faults: [], violations: [] },
    );
  }

  async leave(): Promise<void> {
    await this.page.context().close();
  }
}
