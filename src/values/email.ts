import { asciiDomain } from "./domain.ts";

/** The two sides of an e-mail address; null unless it has exactly one @ with text on both sides. */
export function splitEmail(address: string): { local: string; domain: string } | null {
  const [local, domain, ...more] = address.split("@", 3);
  return local && domain && more.length === 0 ? { local, domain } : null;
}

/**
 * The form in which addresses are compared: the domain as DNS writes it, ASCII letters in lower case. Other letters stay: toLowerCase()
 * would make the Kelvin sign a k. Null for a text that is no address.
 */
export function comparableEmail(address: string): string | null {
  const { local, domain } = splitEmail(address) ?? { local: "", domain: "" };
  const ascii = asciiDomain(domain);
  return ascii && `${local.replace(/[A-Z]/g, letter => letter.toLowerCase())}@${ascii}`;
}
