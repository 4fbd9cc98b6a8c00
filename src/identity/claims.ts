export type Claims = Readonly<Record<string, unknown>>;

/** A claim by its literal name, which may look like a URL, else by a dotted path. */
export function claimValue(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  const inside = (at: unknown, key: string) =>
    typeof at === "object" && at !== null && Object.hasOwn(at, key) ? (at as Claims)[key] : undefined;
  return name.split(".").reduce<unknown>(inside, claims);
}

/** Whether the token says that a claim such as `email` is verified: only true, also as a text, says so. Undefined if it says nothing. */
export function isVerified(claims: Claims, name: string): boolean | undefined {
  const verified = claimValue(claims, `${name}_verified`);
  return verified === undefined ? undefined : verified === true || verified === "true";
}
