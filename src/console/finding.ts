import { path } from "./router.ts";
import { createStore } from "./store.ts";

/** Whether the reader looks for a page or a tenant. */
export const finding = createStore(false);

/** Where it is explained why a person is refused, if what was searched for is an e-mail address. */
export const whyOf = (text: string): string | undefined =>
  /^[^\s@]+@[^\s@]+$/.test(text.trim()) ? path(["why"], { subject: text.trim() }) : undefined;
