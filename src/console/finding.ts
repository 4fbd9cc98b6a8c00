import { createStore } from "./store.ts";

/** Whether the reader looks for a page or a tenant. */
export const finding = createStore(false);
