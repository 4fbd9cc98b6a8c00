/**
 * graphile-migrate in a process of its own, because its library ends the process when its pool loses a connection. Takes one
 * message {@link Order} and answers with one {@link Outcome}.
 */
import { current, Logger, migrate } from "graphile-migrate";
import { getSettings } from "graphile-migrate/dist/commands/_common.js"; // exported nowhere else

export interface Order {
  command: "migrate" | "current";
  ownerUrl: string;
  gmrc: string;
  /** Beyond those of .gmrc. */
  settings: Record<string, string>;
}

/** What a driver tells of a fault; null: no fault. */
export type Outcome = { message: string; code?: string; hint?: string; position?: string } | null;

process.once("message", (order: Order) => {
  void run(order).then(outcome => {
    process.send!(outcome);
    process.disconnect();
  });
});

async function run({ command, ownerUrl, gmrc, settings: more }: Order): Promise<Outcome> {
  try {
    const given = await getSettings({ configFile: gmrc });
    const settings = {
      ...given,
      connectionString: ownerUrl,
      pgSettings: { ...given.pgSettings, ...more },
      // The hooks are for people who run graphile-migrate themselves. Here the installer comes next anyway.
      afterAllMigrations: [],
      afterCurrent: [],
      logger: new Logger(() => () => {}),
    };
    await (command === "current" ? current(settings) : migrate(settings));
    return null;
  } catch (error) {
    const { message, code, hint, position } = error as Exclude<Outcome, null>;
    return { message, ...(code && { code }), ...(hint && { hint }), ...(position && { position }) };
  }
}
