/** How a database that is out of reach is recognized, by what the system and the drivers say of it. */

/** The server is away, or the way to it; it may be back in a moment. */
export function isUnreachable(error: unknown): boolean {
  const { code = "", message = "" } = error as { code?: string; message?: string };
  return (
    /^(ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|CONNECT_TIMEOUT|CONNECTION_|57P0[123]|53300)/.test(
      code,
    ) || /^(timeout e|Connection terminated)/.test(message) // the driver gives these no code
  );
}

/** Codes of a TLS connection that does not come about. */
export const UNTRUSTED =
  /^(SELF_SIGNED_CERT|DEPTH_ZERO_|UNABLE_TO_|CERT_|ERR_TLS_|ERR_SSL_|HOSTNAME_MISMATCH)/;

/** The server's part that refuses a login the right to connect: its words are of its language. */
export const NO_CONNECT = "CheckMyDatabase";
