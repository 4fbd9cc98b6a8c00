/** Names of claims that hold an address, whatever the role is. */
const ADDRESS = /(^|[./:])(e?mails?|phones?|phone_?numbers?|mobile)$/i;
/** Claims that only the provider writes: an address in them is nobody's own entry in a profile. */
const GIVEN = /^sub$|(^|[./:])(groups|roles|permissions|scopes?|scp)$/;

/**
 * Whether the claim, under whatever name, makes operators by an address. Anybody can enter another's address in a profile, so such a claim
 * counts only where the token says that the provider verified it.
 */
export const isAddress = ({ claim, role }: { claim: string; role: string }): boolean =>
  ADDRESS.test(claim) || (/@|^\+[\d\s().-]+$/.test(role) && !GIVEN.test(claim));

/** What the service says at start; undefined for the claims that standards define. */
export function addressWarning(operator: { claim: string; role: string }): string | undefined {
  const { claim } = operator;
  return isAddress(operator) && !["email", "phone_number"].includes(claim)
    ? `SERVICE_OPERATOR_CLAIM: ${claim} makes an operator only in a token with ${claim}_verified: true, because SERVICE_OPERATOR_ROLE is an address`
    : undefined;
}
