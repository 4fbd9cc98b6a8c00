/** Recognizes connection errors by the codes and messages of the system and of both drivers. */

/** The server or the network is down; a retry may succeed. */
export function isUnreachable(error: unknown): boolean {
  const { code = "", message = "" } = error as { code?: string; message?: string };
  return (
    /^(ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|CONNECT_TIMEOUT|CONNECTION_|57P0[123]|53300)/.test(
      code,
    ) || /^(timeout e|Connection terminated)/.test(message) // node-postgres sets no code on these
  );
}

/** Error codes of a failed TLS handshake. */
export const UNTRUSTED =
  /^(SELF_SIGNED_CERT|DEPTH_ZERO_|UNABLE_TO_|CERT_|ERR_TLS_|ERR_SSL_|HOSTNAME_MISMATCH)/;

/** The routine in Postgres that refuses a login without the right to connect. Its message depends on the server's language. */
export const NO_CONNECT = "CheckMyDatabase";
