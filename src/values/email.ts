/** The two sides of an e-mail address; null unless it has exactly one @ with text on both sides. */
export function splitEmail(address: string): { local: string; domain: string } | null {
  const [local, domain, ...more] = address.split("@", 3);
  return local && domain && more.length === 0 ? { local, domain } : null;
}
