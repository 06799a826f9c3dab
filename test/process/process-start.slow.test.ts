/** The first start: one command prints an address, an API key, and a curl command that works. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Session } from "../../contract/admin.ts";
import { loadSnapshot } from "../../server/config/build/load-snapshot.ts";
import { startupMessage } from "../../server/process/startup-message.ts";
import {
  configFor,
  type GatewayProcess,
  startProcess,
  temporaryFolder,
  testKey,
} from "../harness.ts";
import { testWith } from "../programs.ts";
import { until } from "../until.ts";
import { cleanEnvironment, vexel, vexelProcess } from "./process-fixture.ts";

const running: GatewayProcess[] = [];
const start = async (...args: Parameters<typeof startProcess>): Promise<GatewayProcess> => {
  const gateway = await startProcess(...args);
  running.push(gateway);
  return gateway;
};
const stop = async (gateway: GatewayProcess): Promise<void> => {
  gateway.kill("SIGKILL");
  await gateway.exited;
};
afterEach(async () => {
  await Promise.all(running.splice(0).map(stop));
});

const keyIn = (text: string): string | undefined => /API key {3}(sk-\S+)/.exec(text)?.[1];
const modelsWith = (gateway: GatewayProcess, key: string) =>
  fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });

describe("a gateway that is started without settings", () => {
  const folder = temporaryFolder();
  let gateway: GatewayProcess;
  beforeAll(async () => {
    gateway = await startProcess({ folder: folder.path });
  });
  afterAll(async () => {
    await stop(gateway);
    folder[Symbol.dispose]();
  });

  testWith("curl")("prints an address, a key and a curl command that works in bash", async () => {
    const text = gateway.output();
    expect(text).toContain(`Base URL  ${gateway.url}/v1`);
    const key = keyIn(text);
    expect(key).toMatch(/^sk-vx-[\w-]{43}$/);
    expect((await modelsWith(gateway, key!)).status).toBe(200);

    const curl = text.slice(text.indexOf("curl "), text.indexOf("}'") + 2);
    expect(curl).toContain(key!);
    const bash = Bun.spawn(["bash", "-c", `set -eu; ${curl}`], {
      env: cleanEnvironment(),
      stdout: "pipe",
      stderr: "ignore",
    });
    const response = JSON.parse(await new Response(bash.stdout).text()) as {
      data: { embedding: number[] }[];
    };
    expect(response.data[0]?.embedding).toHaveLength(384);
  });

  test("has a data folder that only its owner can read", () => {
    expect(statSync(join(folder.path, "data")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(folder.path, "data")).sort()).toContain("vexel.db");
  });

  test("keeps its port: another gateway on this port ends with exit code 1", async () => {
    const { port } = new URL(gateway.url);
    const env = { PORT: port, VEXEL_DATA: join(folder.path, "other") };
    const { code, err } = await vexelProcess(["serve"], { cwd: folder.path, env });
    expect(code).toBe(1);
    expect(err).toContain("already in use");
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
  });
});

const consoleLine = /^ {2}Console {3}(\S+)(.*)$/m;

test("the first start prints a key and a link that creates the administrator; the second prints neither, and both still work", async () => {
  using folder = temporaryFolder();
  const first = await start({ folder: folder.path });
  const key = keyIn(first.output())!;
  const [, link = "", hint] = consoleLine.exec(first.output()) ?? [];
  expect(link).toStartWith(`${first.url}/console/setup#`);
  expect(hint).toContain("works once");
  expect((await fetch(first.url)).url).toBe(`${first.url}/console`);
  const response = await fetch(`${first.url}/admin/api/session/setup`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      name: "Ada",
      password: "correct horse battery",
      token: link.split("#")[1],
    }),
  });
  expect(((await response.json()) as Session).user.role).toBe("admin");
  await stop(first);
  const second = await start({ folder: folder.path });
  expect(second.output()).not.toContain("sk-vx-");
  expect(second.output()).toContain("1 in use");
  expect((await modelsWith(second, key)).status).toBe(200);
  expect(consoleLine.exec(second.output())?.[1]).toBe(`${second.url}/console`);
});

test("with VEXEL_LOG_FORMAT=json the output has no secret, and commands print the link and a key", async () => {
  using folder = temporaryFolder();
  const data = join(folder.path, "data");
  const env = { VEXEL_LOG_FORMAT: "json" };
  const gateway = await start({ folder: folder.path, env });
  await until(() => gateway.output().endsWith("\n"));
  const lines = gateway.output().trimEnd().split("\n");
  const events = lines.map((line) => JSON.parse(line) as { event: string });
  expect(events.find(({ event }) => event === "listening")).toMatchObject({
    url: gateway.url,
    keys: 0,
    createKey: expect.stringMatching(/keys create --name NAME$/),
    createAdministrator: expect.stringContaining("setup-link"),
  });
  expect(gateway.output()).not.toMatch(/sk-vx-|setup#/);

  const command = { cwd: folder.path, env: { VEXEL_DATA: data, PORT: new URL(gateway.url).port } };
  const printed = await vexel(["setup-link"], command);
  expect(printed).toMatchObject({ code: 0, err: "" });
  expect(printed.out).toStartWith(`${gateway.url}/console/setup#`);
  const body = { name: "Ada", password: "correct horse battery" };
  const response = await fetch(`${gateway.url}/admin/api/session/setup`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...body, token: printed.out.trim().split("#")[1] }),
  });
  expect(response.status).toBe(200);
  expect(await vexel(["setup-link"], command)).toMatchObject({
    code: 1,
    err: expect.stringContaining("the console has users"),
  });

  const created = await vexel(["keys", "create", "--name", "app"], command);
  const key = /sk-vx-\S+/.exec(created.out)?.[0] ?? "";
  await until(async () => (await modelsWith(gateway, key)).status === 200);
});

test("a second gateway cannot use a locked data folder, and commands can", async () => {
  using folder = temporaryFolder();
  const first = await start({ folder: folder.path });
  const key = keyIn(first.output())!;
  const data = join(folder.path, "data");
  const env = { PORT: "0", VEXEL_DATA: data };
  const second = await vexelProcess(["serve"], { cwd: folder.path, env });
  expect(second.code).toBe(1);
  expect(second.err).toContain(`Another gateway is running with the data folder ${data}.`);
  expect(second.err).toContain("VEXEL_DATA=");
  expect((await modelsWith(first, key)).status).toBe(200);
  for (const command of [["keys", "create", "--name", "beside"], ["keys", "list"], ["check"]]) {
    const { code, err } = await vexel(command, { cwd: folder.path, env });
    expect(code, err).toBe(0);
  }
  // Killed, so that it cannot release the lock itself.
  await stop(first);
  const third = await start({ folder: folder.path });
  expect((await modelsWith(third, key)).status).toBe(200);
});

/** A model in a folder of the operator. */
const yamlOfFolder = (path: string): string => `
upstreams:
  - { id: mine, kind: local, path: ${path} }
models:
  - { id: mine, kind: embedding, targets: [{ upstream: mine, model: mine }] }
keys:
  - { name: test, key: ${testKey} }
`;

test("a built-in model whose folder has no model ends the start and the check with exit code 1 and its location", async () => {
  using folder = temporaryFolder();
  const empty = join(folder.path, "empty");
  mkdirSync(empty);
  writeFileSync(join(folder.path, "vexel.yaml"), yamlOfFolder(empty));
  const env = { PORT: "0", VEXEL_DATA: join(folder.path, "data") };
  const check = await vexel(["check"], { cwd: folder.path, env });
  const serve = await vexelProcess(["serve"], { cwd: folder.path, env });
  expect(serve).toEqual({ code: 1, out: "", err: check.err });
  expect(serve.err).toMatch(/vexel\.yaml:\d+/);
  expect(serve.err).toContain("has no tokenizer.json");
});

describe("a gateway with keys in its configuration, VEXEL_CONSOLE=off and unknown variables", () => {
  const folder = temporaryFolder();
  let gateway: GatewayProcess;
  const env = {
    VEXEL_CONSOLE: "off",
    VEXEL_LOG_LEVLE: "silent",
    VEXEL_BOGUS: "1",
    VEXEL_OUR_TOKEN: "x-0123456789",
    // README.md sets the first; Kubernetes sets the others beside a service "vexel".
    VEXEL_KEY: "sk-mine",
    VEXEL_PORT: "tcp://10.0.0.1:80",
    VEXEL_PORT_80_TCP_ADDR: "10.0.0.1",
    VEXEL_SERVICE_HOST: "10.0.0.1",
  };
  const yaml = `${configFor("http://127.0.0.1:9/v1")}  - { name: more, key: "\${VEXEL_OUR_TOKEN}-long-enough" }\n`;
  beforeAll(async () => {
    gateway = await startProcess({ folder: folder.path, yaml, env });
  });
  afterAll(async () => {
    await stop(gateway);
    folder[Symbol.dispose]();
  });

  test("needs no generated key, and has no console in the start message and on the landing page", async () => {
    expect(gateway.output()).not.toContain("sk-vx-");
    expect(gateway.output()).not.toContain("Console");
    expect(await (await fetch(`${gateway.url}/`)).text()).not.toContain("/console");
  });

  test("warns of each unknown VEXEL_ variable, and suggests a setting", async () => {
    const warnings = gateway
      .output()
      .split("\n")
      .filter((line) => line.includes("unknown-setting"))
      .map((line) => JSON.parse(line) as { name: string; nearest?: string });
    expect(warnings.map(({ name, nearest }) => [name, nearest])).toEqual([
      ["VEXEL_BOGUS", undefined],
      ["VEXEL_LOG_LEVLE", "VEXEL_LOG_LEVEL"],
    ]);
    const check = await vexel(["check"], { cwd: folder.path, env: { ...env, VEXEL_PORT: "8081" } });
    expect(check.code).toBe(0);
    expect(check.err).toContain(
      "VEXEL_PORT is set, but there is no such setting (did you mean PORT?)",
    );
  });

  test("rejects a reload with a built-in model whose folder has no model", async () => {
    writeFileSync(join(folder.path, "vexel.yaml"), yamlOfFolder(folder.path));
    await until(() => gateway.output().includes("config-rejected"));
    const { data } = (await (await modelsWith(gateway, testKey)).json()) as {
      data: { id: string }[];
    };
    const ids = data.map(({ id }) => id);
    expect(ids).toContain("gpt-image-2");
    expect(ids).not.toContain("mine");
  });
});

test("a port that is in use ends the start with exit code 1 and advice, and no key is lost", async () => {
  using folder = temporaryFolder();
  const portOwner = createServer().listen(0, "127.0.0.1");
  const { port } = portOwner.address() as { port: number };
  const env = { PORT: String(port), VEXEL_DATA: join(folder.path, "data") };
  const { code, out, err } = await vexelProcess(["serve"], { cwd: folder.path, env });
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toBe(
    `Port ${port} on 127.0.0.1 is already in use. Set PORT to another one, such as PORT=8081.\n`,
  );
  portOwner.close();
  // The generated key is shown by the first start that succeeds; otherwise no client could authenticate.
  const gateway = await start({ folder: folder.path });
  expect((await modelsWith(gateway, keyIn(gateway.output())!)).status).toBe(200);
});

test.each(["nope.invalid", "203.0.113.7"])(
  "an address that is not local, HOST=%s, ends the start with exit code 1",
  async (HOST) => {
    using folder = temporaryFolder();
    const env = { HOST, PORT: "0", VEXEL_DATA: join(folder.path, "data") };
    const { code, out, err } = await vexelProcess(["serve"], { cwd: folder.path, env });
    expect({ code, out, err }).toEqual({
      code: 1,
      out: "",
      err: `HOST=${HOST} is not an address of this machine.\n`,
    });
  },
);

describe("an invalid setting ends the start with exit code 2 and its name", () => {
  test.each<[Record<string, string>, string]>([
    [{ PORT: "eighty" }, 'PORT="eighty"'],
    [{ PORT: "70000" }, 'PORT="70000"'],
    [{ PORT: "-1" }, 'PORT="-1"'],
    [{ VEXEL_LOG_LEVEL: "loud" }, 'VEXEL_LOG_LEVEL="loud"'],
    [{ VEXEL_ON_LEDGER_ERROR: "ignore" }, 'VEXEL_ON_LEDGER_ERROR="ignore"'],
    [{ VEXEL_PUBLIC_URL: "example.com" }, 'VEXEL_PUBLIC_URL="example.com"'],
  ])("%j", async (env, named) => {
    using folder = temporaryFolder();
    const { code, out, err } = await vexel(["serve"], { cwd: folder.path, env });
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(named);
    expect(err).not.toContain("    at ");
    expect(readdirSync(folder.path)).toEqual([]);
  });
});

describe("an invalid or missing configuration ends the start with exit code 1", () => {
  test("and the location of every mistake", async () => {
    using folder = temporaryFolder();
    const yaml = join(folder.path, "wrong.yaml");
    await Bun.write(yaml, "models:\n  - { id: a, kind: embeding, targets: [] }\nkeyz: []\n");
    const args = ["serve", "--config", yaml, "--port", "0"];
    const { code, out, err } = await vexel(args, { cwd: folder.path });
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(`${yaml}:2:`);
    expect(err).toContain(`${yaml}:3:`);
    expect(err).toContain("keyz");
  });

  test("and the name of the missing file", async () => {
    using folder = temporaryFolder();
    const env = { PORT: "0", VEXEL_CONFIG: "nowhere.yaml" };
    const { code, err } = await vexel(["serve"], { cwd: folder.path, env });
    expect(code).toBe(1);
    expect(err).toContain("nowhere.yaml");
    expect(err).toContain("does not exist");
  });
});

test("command line options override settings", async () => {
  using folder = temporaryFolder();
  const gateway = await start({
    folder: folder.path,
    env: { PORT: "1", VEXEL_DATA: "/proc/nope" },
    args: ["--port", "0", "--data", join(folder.path, "chosen")],
  });
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  expect(readdirSync(folder.path)).toContain("chosen");
});

test("the printed curl command is quoted for the shell, whatever the name of the model", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "vexel.yaml");
  const yaml = `
builtInModels: false
upstreams: [{ id: u, kind: vllm, baseUrl: "http://127.0.0.1:9" }]
models: [{ id: "it's;$(touch-pwned)", kind: embedding, targets: [{ upstream: u, model: m }] }]
`;
  writeFileSync(path, yaml);
  const loaded = loadSnapshot({ path, namedBy: "VEXEL_CONFIG", env: {} });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const text = startupMessage({
    url: "http://0.0.0.0:1",
    snapshot: loaded.snapshot,
    newKey: "sk-x",
  });
  expect(text).toContain("http://127.0.0.1:1/v1");
  const body = text.slice(text.indexOf("-d ") + 3).trim();
  const echoed = Bun.spawnSync(["bash", "-c", `printf %s ${body}`]).stdout.toString();
  expect(JSON.parse(echoed)).toEqual({ model: "it's;$(touch-pwned)", input: "a red boat" });
});

test("a gateway without models says so at the start, and how to add one, instead of a sample", async () => {
  using folder = temporaryFolder();
  const gateway = await start({ folder: folder.path, yaml: "builtInModels: false\n" });
  const text = gateway.output();
  expect(text).toContain("  Models    none\n");
  expect(text).toMatch(
    /^ {2}Warning: no model is configured, .*OPENAI_API_KEY.*console.*vexel\.yaml/m,
  );
  expect(text).not.toContain("Try it");
  expect(text).not.toContain('"model":""');
});
