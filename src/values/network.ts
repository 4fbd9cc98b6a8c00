import { isIPv6 } from "node:net";

/** The network of an address that limits count by: IPv6 networks have 2^64 addresses each. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes(".")) return address;
  const [before = "", after] = address.split("::");
  const head = before === "" ? [] : before.split(":");
  const tail = after ? after.split(":") : [];
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => "0");
  return [...head, ...(after === undefined ? [] : zeros), ...tail].slice(0, 4).join(":");
}
