/** The npm package with npx, and the single executable alone, without `lib` and with it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { configFor, root, temporaryFolder } from "../harness.ts";
import { bearer } from "../http/gateway-fixture.ts";
import { until } from "../until.ts";

const folder = temporaryFolder();
const installed = join(folder.path, "installed");
const fake = startFake();
afterAll(async () => {
  await fake.close();
  folder[Symbol.dispose]();
});

const path = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "" };

function run(command: readonly string[], cwd: string): void {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stdout}${stderr}`);
}

/**
 * Copies the packages that the gateway depends on from this repository, which has installed them. npm keeps the
 * packages in the packed manifest, and removes the others.
 */
function copyDependencies(folder: string): void {
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  ) as Readonly<Record<string, Readonly<Record<string, string>> | undefined>>;
  const installable = Object.entries({ ...dependencies, ...optionalDependencies }).filter(
    ([, version]) => !version.startsWith("file:"),
  );
  for (const [name] of installable) {
    const [from, to] = [root, installed].map((parent) => join(parent, "node_modules", name));
    // Optional packages for other platforms are not installed.
    if (!from || !to || existsSync(to) || !existsSync(from)) continue;
    mkdirSync(dirname(to), { recursive: true });
    run(["cp", "-a", from, to], root);
    copyDependencies(from);
  }
}

beforeAll(() => {
  mkdirSync(join(installed, "node_modules"), { recursive: true });
  copyDependencies(root);
  // Without the links to its programs, npm installs a package again.
  run(["cp", "-a", join(root, "node_modules", ".bin"), join(installed, "node_modules")], root);
  writeFileSync(join(installed, "package.json"), '{"private":true}');
  run(["npm", "pack", "--pack-destination", folder.path], root);
  const name = readdirSync(folder.path).find((file) => file.endsWith(".tgz")) ?? "";
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund"];
  run(["npm", "install", ...quiet, join(folder.path, name)], installed);
});

/** Starts a command in a new folder and stops it after `use`. Returns what it printed. */
async function withGateway(
  command: readonly string[],
  cwd: string,
  use: (url: string, output: string) => Promise<void>,
): Promise<void> {
  using data = temporaryFolder();
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...path, PORT: "0", VEXEL_DATA: data.path, VEXEL_ADMIN_TOKEN: adminToken },
    stdout: "pipe",
    stderr: "ignore",
  });
  try {
    let output = "";
    void (async () => {
      for await (const chunk of child.stdout) output += new TextDecoder().decode(chunk);
    })();
    await until(() => /Base URL {2}(\S+)\/v1[\s\S]*(Try it|Warning: no model)/.test(output));
    await use(/Base URL {2}(\S+)\/v1/.exec(output)?.[1] ?? "", output);
  } finally {
    child.kill("SIGTERM");
    await child.exited;
  }
}

const keyIn = (output: string) => ({
  authorization: `Bearer ${/sk-\S+/.exec(output)?.[0]}`,
  "content-type": "application/json",
});

async function send(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: { readonly model: string; readonly prompt?: string; readonly input?: string },
): Promise<number> {
  const endpoint = body.prompt === undefined ? "embeddings" : "images/generations";
  const request = { method: "POST", headers, body: JSON.stringify(body) };
  return (await fetch(`${url}/v1/${endpoint}`, request)).status;
}

const adminToken = "admin-0123456789abcdef";

async function adminDocument(url: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${adminToken}` };
  return (await fetch(`${url}/admin/api/openapi.json`, { headers })).json();
}

async function hasConsole(url: string): Promise<boolean> {
  const page = await (await fetch(`${url}/console/`)).text();
  const script = /src="([^"]+)"/.exec(page)?.[1] ?? "";
  return (await fetch(url + script)).headers.get("content-type")?.includes("javascript") ?? false;
}

test("the packed package runs with npx: embeddings, images and the console", async () => {
  await withGateway(["npx", "--no-install", "vexel"], installed, async (url, output) => {
    const key = keyIn(output);
    expect(await send(url, key, { model: "all-minilm-l6-v2", input: "hi" })).toBe(200);
    expect(await send(url, key, { model: "vexel-sketch", prompt: "a boat" })).toBe(200);
    expect(await hasConsole(url)).toBe(true);
  });
});

test("the single executable serves gateway and console alone, and built-in models with lib beside it", async () => {
  const own = join(folder.path, "executable");
  mkdirSync(own);
  const built = process.env.TEST_EXECUTABLE;
  if (built !== undefined) cpSync(built, join(own, "vexel"));
  else run(["node", join(root, "bin/build-executable.mjs"), join(own, "vexel")], root);
  writeFileSync(join(own, "vexel.yaml"), configFor(fake.url));
  await withGateway([join(own, "vexel")], own, async (url) => {
    const headers = { ...bearer, "content-type": "application/json" };
    const embedding = { model: "text-embedding-3-small", input: "hi" };
    expect(await send(url, headers, embedding)).toBe(200);
    expect(await send(url, headers, { model: "all-minilm-l6-v2", input: "hi" })).toBe(404);
    expect(await hasConsole(url)).toBe(true);
    expect(await adminDocument(url)).toHaveProperty("components.schemas.ApiKey.properties.name");
  });
  rmSync(join(own, "vexel.yaml"));
  // Copied without lib: the start and `check` say what is missing.
  const missing = `the folder ${join(own, "lib")} is missing: `;
  await withGateway(["./vexel"], own, async (_, output) => {
    expect(output).toContain(`Warning: ${missing}`);
    expect(output).toContain("Models    none\n");
    expect(output).not.toContain('"model":""');
  });
  const check = Bun.spawnSync(["./vexel", "check"], { cwd: own, env: path });
  expect(check.stderr.toString()).toStartWith(`warning: ${missing}`);
  const mistyped = Bun.spawnSync(["./vexel", "kyes"], { cwd: own, env: path });
  expect(mistyped.stderr.toString()).toContain('"./vexel help" lists the commands.');
  mkdirSync(join(own, "lib"));
  const empty = Bun.spawnSync(["./vexel", "check"], { cwd: own, env: path });
  expect(empty.stderr.toString()).toStartWith(
    `warning: the folder ${join(own, "lib", "node_modules")} is missing: `,
  );
  symlinkSync(join(installed, "node_modules"), join(own, "lib", "node_modules"));
  await withGateway([join(own, "vexel")], own, async (url, output) => {
    const key = keyIn(output);
    expect(await send(url, key, { model: "all-minilm-l6-v2", input: "hi" })).toBe(200);
    expect(await send(url, key, { model: "vexel-sketch", prompt: "a boat" })).toBe(200);
  });
});
