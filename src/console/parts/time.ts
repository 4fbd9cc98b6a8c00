import { createStore } from "../store.ts";

/** Whether all times are shown exactly. */
export const exactTimes = createStore(false);

const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const DAY = new Intl.DateTimeFormat("en", {
  weekday: "long",
  day: "numeric",
  month: "long",
  year: "numeric",
});

const DAY_S = 86_400;
/** Days up to two months: "in 4 weeks" is not 30 days. */
const UNITS: [Intl.RelativeTimeFormatUnit, size: number, from: number][] = [
  ["year", 365.25 * DAY_S, 365 * DAY_S],
  ["month", (365.25 / 12) * DAY_S, 61 * DAY_S],
  ["day", DAY_S, DAY_S],
  ["hour", 3_600, 3_600],
  ["minute", 60, 60],
];

/** `in 7 days`, also a moment after seven days were chosen. */
export function relative(at: string, now: number): string {
  const seconds = (Date.parse(at) - now) / 1000;
  const found = UNITS.find(([, , from]) => Math.abs(seconds) >= from - 30);
  if (found) return RELATIVE.format(Math.round(seconds / found[1]), found[0]);
  // Clocks that differ by some seconds put nothing that has happened into the future.
  return seconds > 5 ? "in a moment" : "just now";
}

export const exact = (at: string): string => EXACT.format(new Date(at));

/** The reader's day of a moment, as a heading. */
export function dayOf(at: string, now: number): string {
  const day = (time: number) => new Date(time).toDateString();
  const time = Date.parse(at);
  if (day(time) === day(now)) return "Today";
  if (day(time) === day(now - DAY_S * 1000)) return "Yesterday";
  return DAY.format(time);
}
