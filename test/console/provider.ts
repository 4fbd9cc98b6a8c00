/** A real OpenID Connect provider on this machine: npm oidc-provider, with its own pages to sign in. */
import { generateKeyPairSync } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const AUDIENCE = "https://api.example/tenancy";
export const CLIENT = "console";

export interface Provider {
  issuer: string;
  /** Grants by refresh token so far. */
  renewals(): number;
  /** Whether it gives nothing for a refresh token. */
  refuses(renewals: boolean): void;
  /** Begins to answer; the console's address must be known. */
  serve(redirectUri: string): Promise<void>;
  close(): Promise<void>;
}

/** `seconds`: how long its access tokens live. */
export async function createProvider(claims: object, seconds: number): Promise<Provider> {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) =>
    void response.writeHead(503).end();
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
  let [renewals, refusing] = [0, false];
  return {
    issuer,
    renewals: () => renewals,
    refuses: renewals => {
      refusing = renewals;
    },
    async serve(redirectUri) {
      // It has no types.
      const { default: Library } = (await import("oidc-provider" as string)) as {
        default: new (
          issuer: string,
          configuration: object,
        ) => {
          callback(): typeof handle;
          on(event: string, seen: (context: { oidc: { params: { grant_type?: string } } }) => void): void;
        };
      };
      const library = new Library(issuer, {
        clients: [
          {
            client_id: CLIENT,
            token_endpoint_auth_method: "none",
            redirect_uris: [redirectUri],
            post_logout_redirect_uris: [redirectUri],
            grant_types: ["authorization_code", "refresh_token"],
            response_types: ["code"],
          },
        ],
        jwks: { keys: [{ ...key, kid: "1", alg: "RS256", use: "sig" }] },
        cookies: { keys: ["a key of this test"] },
        clientBasedCORS: () => true,
        issueRefreshToken: () => true,
        extraTokenClaims: () => claims,
        ttl: {
          AccessToken: seconds,
          IdToken: 3600,
          RefreshToken: 3600,
          Session: 3600,
          Grant: 3600,
          Interaction: 3600,
        },
        features: {
          revocation: { enabled: true },
          resourceIndicators: {
            enabled: true,
            useGrantedResource: () => true,
            getResourceServerInfo: () => ({
              scope: "",
              audience: AUDIENCE,
              accessTokenFormat: "jwt",
              accessTokenTTL: seconds,
              jwt: { sign: { alg: "RS256" } },
            }),
          },
        },
      });
      library.on("grant.success", ({ oidc }) => {
        if (oidc.params.grant_type === "refresh_token") renewals++;
      });
      const callback = library.callback();
      handle = (request, response) => {
        if (refusing && request.url === "/token" && request.method === "POST")
          return void response
            .writeHead(400, { "content-type": "application/json", "access-control-allow-origin": "*" })
            .end('{"error":"invalid_grant"}');
        callback(request, response);
      };
    },
    async close() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}
