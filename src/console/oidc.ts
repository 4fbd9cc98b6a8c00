/** OpenID Connect: authorization code with PKCE, renewed by refresh token. */
import * as oauth from "oauth4webapi";
import { Refused } from "../client/client.ts";
import { settings } from "./settings.ts";
import { stored } from "./storage.ts";

export interface Tokens {
  access: string;
  refresh?: string;
  /** Came from the provider, so its session ends with ours. */
  provider?: true;
}

interface Pending {
  state: string;
  nonce: string;
  verifier: string;
  /** Where the reader was. */
  hash: string;
}
const pendings = stored<Pending>("sign-in");

const configured = settings.oidc;
/** The service's configuration takes http for providers on this machine only. */
const options = { [oauth.allowInsecureRequests]: configured?.issuer.startsWith("http:") === true };
const client: oauth.Client = { client_id: configured?.clientId ?? "" };
const redirectUri = new URL(location.pathname, location.origin).href;

/** A fetch without an answer is a TypeError, which each browser words in its own way. */
export const noProvider = (cause: unknown) =>
  new Refused(
    0,
    { error: "No answer", detail: "The provider of your sign-in cannot be reached." },
    undefined,
    { cause },
  );

let server: Promise<oauth.AuthorizationServer> | undefined;
function discover(): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(configured!.issuer);
  server ??= oauth
    .discoveryRequest(issuer, options)
    .then(answer => oauth.processDiscoveryResponse(issuer, answer))
    .catch((cause: unknown) => {
      server = undefined;
      throw cause instanceof TypeError ? noProvider(cause) : cause;
    });
  return server;
}

/** Providers name the API that a token is for in one of these two ways. */
function audience(): Record<string, string> {
  const name = configured!.audience;
  if (!name) return {};
  return /^https?:/.test(name) ? { audience: name, resource: name } : { audience: name };
}

/** Leaves for the provider's page. */
export async function goToProvider(hash: string): Promise<void> {
  const { authorization_endpoint: endpoint } = await discover();
  const pending: Pending = {
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    verifier: oauth.generateRandomCodeVerifier(),
    hash,
  };
  pendings.write(pending);
  const to = new URL(endpoint!);
  const { scope } = configured!;
  for (const [name, value] of Object.entries({
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: "code",
    scope,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: "S256",
    // Providers give a refresh token for this scope only to people who agreed to it.
    ...(scope.split(" ").includes("offline_access") && { prompt: "consent" }),
    ...audience(),
  }))
    to.searchParams.set(name, value);
  location.assign(to);
}

/** Whether this tab asked for the answer in the address. Anybody can send a link that looks like one. */
export function isAsked({ searchParams }: URL): boolean {
  const pending = pendings.read();
  return configured !== null && pending !== null && searchParams.get("state") === pending.state;
}

/** The tokens for the code in the address, and where the reader was. */
export async function finish(address: URL): Promise<{ tokens: Tokens; hash: string }> {
  const pending = pendings.read()!;
  pendings.forget();
  const as = await discover();
  const parameters = oauth.validateAuthResponse(as, client, address, pending.state);
  const answer = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    oauth.None(),
    parameters,
    redirectUri,
    pending.verifier,
    { ...options, additionalParameters: audience() },
  );
  const found = await oauth.processAuthorizationCodeResponse(as, client, answer, {
    expectedNonce: pending.nonce,
    requireIdToken: true,
  });
  return { tokens: tokensOf(found), hash: pending.hash };
}

function tokensOf({ access_token, refresh_token }: oauth.TokenEndpointResponse, before?: string): Tokens {
  if (access_token.split(".").length !== 3)
    throw new Error(
      "The provider's access token is not a JWT, which the service needs. Have the provider issue one for its audience (SERVICE_JWT_AUDIENCE).",
    );
  const refresh = refresh_token ?? before;
  return { access: access_token, provider: true, ...(refresh && { refresh }) };
}

export async function renew({ refresh }: Tokens): Promise<Tokens> {
  const as = await discover();
  const answer = await oauth.refreshTokenGrantRequest(as, client, oauth.None(), refresh!, {
    ...options,
    additionalParameters: audience(),
  });
  return tokensOf(await oauth.processRefreshTokenResponse(as, client, answer), refresh);
}

/** The provider's refusal, for good. Anything else may pass: the network after a sleep, a provider that starts. */
export const isOver = (error: unknown): boolean =>
  error instanceof oauth.ResponseBodyError && error.error === "invalid_grant";

/** Ends the refresh token, then the provider's own session, whose page leads back here. */
export async function revoke({ access, refresh, provider }: Tokens): Promise<void> {
  if (!provider) return;
  try {
    const as = await discover();
    if (as.revocation_endpoint)
      await oauth.revocationRequest(as, client, oauth.None(), refresh ?? access, options);
    if (!as.end_session_endpoint) return;
    const to = new URL(as.end_session_endpoint);
    // Without id_token_hint: no token is in an address. The provider may ask whether to sign out.
    to.searchParams.set("client_id", client.client_id);
    to.searchParams.set("post_logout_redirect_uri", redirectUri);
    location.assign(to);
  } catch {
    // The provider is away; this tab has forgotten the tokens.
  }
}
