import type { ConsoleSettings } from "../values/console-settings.ts";

export const settings: ConsoleSettings = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name="console"]')!.content,
);

/** The service's address: the folder above the page's, also behind a proxy with a prefix. */
export const BASE = new URL("../", document.baseURI);
