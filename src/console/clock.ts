/** The service's clock, as its answers tell it: the reader's own may be wrong by hours. */
let ahead: number | undefined;

/** From the `Date` of an answer, to the second, or from a token that was issued this moment. True if it is news. */
export function learnTime(at: string | number | null | undefined): boolean {
  const time = typeof at === "string" ? Date.parse(at) : at;
  if (typeof time !== "number" || !Number.isFinite(time)) return false;
  const found = time - Date.now();
  if (ahead !== undefined && Math.abs(found - ahead) < 5_000) return false;
  ahead = found;
  return true;
}

/** Undefined until the service has answered. */
export const now = (): number | undefined => (ahead === undefined ? undefined : Date.now() + ahead);
