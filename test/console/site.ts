/** A service with its console, a browser, and the people who sign in there: what the console's test files begin with. */
import { writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { beforeEach } from "node:test";
import { chromium } from "playwright-core";
import { temporaryFolder } from "../folder.ts";
import { type Database, token } from "../harness.ts";
import { createWorld, type World } from "../http/world.ts";
import { Visitor } from "./browser.ts";

export interface Site extends Pick<Database, "sql" | "urls"> {
  url: string;
  /** A person who has not signed in. `url`: the console's at another address. */
  visit: (options?: Parameters<typeof Visitor.arrive>[2], url?: string) => Promise<Visitor>;
  /** A person who has signed in. */
  arrive: (sub: string, claims?: object) => Promise<Visitor>;
  end: () => Promise<void>;
}

/** Claims of an operator. */
export const OPERATOR = { roles: ["tenant-operator"] };

const sites: Pick<Database, "sql">[] = [];
// A test is faster than people: each begins with all its requests.
beforeEach(() => Promise.all(sites.map(({ sql }) => sql`delete from control.rate_limits`)));

/** `schema`: of settings. */
export async function createSite(env: Record<string, string> = {}, schema?: object): Promise<Site> {
  const browser = await chromium.connect(process.env.TMS_TEST_BROWSER!, { timeout: 60_000 });
  const world = await worldWith(env, schema).catch(async error => {
    await browser.close();
    throw error;
  });
  const { app } = world.service;
  sites.push(world.database);
  await app.listen({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const visit: Site["visit"] = (options, at = url) => Visitor.arrive(browser, at, options);
  return {
    ...world.database,
    url,
    visit,
    async arrive(sub, claims) {
      const visitor = await visit();
      await visitor.signIn(await token({ sub, ...claims }));
      return visitor;
    },
    async end() {
      sites.splice(sites.indexOf(world.database), 1);
      await browser.close();
      await world.end();
    },
  };
}

async function worldWith(env: Record<string, string>, schema?: object): Promise<World> {
  if (!schema) return createWorld(env);
  const file = path.join(temporaryFolder("console"), "settings.json");
  writeFileSync(file, JSON.stringify(schema));
  return createWorld({ ...env, SERVICE_TENANT_SETTINGS_SCHEMA: file });
}
