import { createHmac } from "node:crypto";
import type { CommandModule } from "yargs";
import { type Config, loadConfig } from "../config/config.ts";
import { embeddedJwtSecret } from "../embedded/embedded.ts";
import { StartupError } from "../errors/startup-error.ts";
import { operatorClaims } from "../identity/operator.ts";
import { faultOf } from "../values/json-text.ts";
import { text } from "../values/printable.ts";
import { flagOption, nameOption, textOption } from "./options.ts";
import { printLine } from "./output.ts";
import { begunFolder } from "./owner.ts";

interface TokenOptions {
  sub: string;
  email?: string | undefined;
  operator?: boolean | undefined;
  tenant?: string | undefined;
  /** These win over everything else. */
  claims?: Record<string, unknown>;
  /** Seconds. */
  expiresIn: number;
}

/** A token that a service with this configuration accepts. */
export function signToken(config: Config, secret: string, options: TokenOptions): string {
  const { sub, email, operator, tenant, claims = {}, expiresIn } = options;
  const { issuer, audience, tenantClaim, algorithms } = config.jwt;
  const payload = {
    sub,
    exp: Math.floor(Date.now() / 1000) + expiresIn,
    ...(issuer === null ? {} : { iss: issuer }),
    ...(audience === null ? {} : { aud: audience[0]! }),
    ...(email === undefined ? {} : { email }),
    ...(tenant === undefined ? {} : { [tenantClaim ?? "tenant"]: tenant }),
    ...claims,
    ...(operator ? operatorClaims(claims, config.operator) : {}),
  };
  const [alg] = algorithms;
  const input = [{ alg, typ: "JWT" }, payload]
    .map(part => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  return `${input}.${createHmac(alg!.replace("HS", "sha"), secret).update(input).digest("base64url")}`;
}

/** SERVICE_JWT_SECRET, else the secret of the embedded database, with the folder that it is in. */
export async function signingSecret({ jwt }: Config): Promise<{ secret: string; folder?: string }> {
  if (jwt.publicKey ?? jwt.jwksUrl)
    throw new StartupError(
      "This service verifies tokens with a public key, and only the holder of the private key can sign them",
    );
  if (jwt.secret !== null) return { secret: jwt.secret };
  const folder = begunFolder(console.error);
  return { secret: await embeddedJwtSecret(folder), folder };
}

/** `a=1` gives the number 1, `a=x` the string x: a value that parses as JSON is JSON. */
function parseClaim(text: string): [string, unknown] {
  const at = text.indexOf("=");
  if (at < 1) throw new StartupError(`--claim takes name=value, not ${JSON.stringify(text)}`);
  const [name, value] = [text.slice(0, at), text.slice(at + 1)];
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch {
    return [name, value];
  }
  const lost = faultOf(value)?.message;
  if (lost)
    throw new StartupError(
      `--claim ${name} ${lost}${lost.endsWith("exactly") ? ": write it in quotes, as a text" : ""}`,
    );
  return [name, parsed];
}

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

export function parseDuration(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  if (!count || !unit)
    throw new StartupError(`--expires takes a time like 90s, 15m, 1h or 7d, not ${JSON.stringify(text)}`);
  return Number(count) * SECONDS[unit]!;
}

interface Arguments {
  sub: string;
  email: string | undefined;
  operator: boolean;
  tenant: string | undefined;
  claim: string[];
  expires: string;
}

export const token: CommandModule<object, Arguments> = {
  command: "token",
  describe: "Print one signed token, and nothing else",
  builder: yargs =>
    yargs
      .option("sub", { ...textOption("Subject of the token"), demandOption: true })
      .option("email", nameOption("email", "E-mail address"))
      .option("operator", flagOption("Grants the operator role, for the setup endpoints"))
      .option("tenant", nameOption("tenant", "Slug of the tenant to act in"))
      .option("claim", {
        type: "string",
        array: true,
        nargs: 1,
        default: [],
        describe: "Another claim, name=value; the value is JSON if it parses",
      })
      .option("expires", { ...textOption("Lifetime: 90s, 15m, 1h, 7d"), default: "1h" })
      .epilogue(
        "Signs with SERVICE_JWT_SECRET, else with the secret in the embedded database's data folder.\n" +
          "In a script: TOKEN=$(npm run --silent token -- --sub alice --tenant acme)",
      ),
  handler: async ({ sub, email, operator, tenant, claim, expires }) => {
    const { config } = loadConfig(process.env);
    if (text(sub) === null)
      throw new StartupError(
        "--sub takes one subject: 1 to 255 characters, none of them a control character",
      );
    const claims = claim.map(parseClaim);
    const twice = claims.find(([name], i) => claims.findIndex(([other]) => other === name) < i);
    if (twice) throw new StartupError(`--claim ${twice[0]} is given more than once`);
    const also = { email, [config.jwt.tenantClaim ?? "tenant"]: tenant };
    const given = claims.find(([name]) => Object.hasOwn(also, name) && also[name] !== undefined);
    if (given)
      throw new StartupError(
        `--claim ${given[0]} is given beside --${given[0] === "email" ? "email" : "tenant"}`,
      );
    const options = {
      sub,
      email,
      operator,
      tenant,
      claims: Object.fromEntries(claims),
      expiresIn: parseDuration(expires),
    };
    const { secret } = await signingSecret(config);
    await printLine(signToken(config, secret, options));
  },
};
