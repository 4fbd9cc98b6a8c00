import { buildApp } from "./app.ts";
import type { Config } from "./config.ts";

export interface Server {
  address: string;
  close(): Promise<void>;
}

/** Listens as configured; rejects when the database or the port is not to be had. */
export async function startServer(config: Config): Promise<Server> {
  const app = await buildApp(config);
  try {
    const address = await app.listen({ host: config.host, port: config.port });
    return { address, close: () => app.close() };
  } catch (error) {
    await app.close();
    throw error;
  }
}
