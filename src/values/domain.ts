import { domainToASCII, domainToUnicode } from "node:url";

/** Characters with a meaning in a URL: `domainToASCII("acme.com/x")` is `acme.com`. */
const NOT_IN_A_DOMAIN = /[\s/\\?#@:%[\]]/;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether an `xn--` label is valid Punycode: since Node.js 24 the parser accepts any, such as `xn--a`. */
function isEncoded(label: string): boolean {
  const decoded = domainToUnicode(label);
  return decoded !== label && domainToASCII(decoded) === label;
}

/** A domain as DNS writes it (IDNA, lower case, no trailing dot); null unless it has two labels or more. */
export function asciiDomain(text: string): string | null {
  if (text.length > 254 || NOT_IN_A_DOMAIN.test(text)) return null;
  const domain = domainToASCII(text).replace(/\.$/, "");
  const labels = domain.split(".");
  const isIp = /^\d+$/.test(labels.at(-1)!);
  return domain.length <= 253 &&
    labels.length > 1 &&
    !isIp &&
    labels.every(label => LABEL.test(label) && (!label.startsWith("xn--") || isEncoded(label)))
    ? domain
    : null;
}
