/** Hints name the command that the user ran, however the gateway was installed. */
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import image from "../../deploy/docker/image.json";
import { root, temporaryFolder } from "../harness.ts";
import { cleanEnvironment, installedCopy } from "./process-fixture.ts";

const folder = temporaryFolder();
const launchers = installedCopy(folder.path);
afterAll(() => folder[Symbol.dispose]());

/** What a misspelled command prints. */
async function hintOf(
  command: readonly string[],
  { cwd = folder.path, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const environment = cleanEnvironment(env);
  const child = Bun.spawn([...command, "kyes"], { cwd, env: environment, stderr: "pipe" });
  const text = await new Response(child.stderr).text();
  expect(await child.exited).toBe(2);
  return text;
}

const hint = (command: string): string =>
  `vexel: unknown command "kyes" (did you mean "keys"?). "${command} help" lists the commands.\n`;

function link(...path: readonly string[]): string {
  const target = join(folder.path, ...path);
  mkdirSync(join(target, ".."), { recursive: true });
  symlinkSync(join(launchers, "vexel"), target);
  return target;
}

test("a script of the checkout", async () => {
  expect(await hintOf(["node", "bin/vexel.mjs"], { cwd: root })).toBe(hint("node bin/vexel.mjs"));
  expect(await hintOf(["./bin/vexel"], { cwd: join(launchers, "..") })).toBe(hint("bin/vexel"));
});

test("a command in the PATH, and one that is not", async () => {
  const path = link("global", "bin", "vexel");
  const env = { PATH: `${join(path, "..")}:${process.env.PATH}` };
  expect(await hintOf([path], { env })).toBe(hint("vexel"));
  expect(await hintOf([path])).toBe(hint("global/bin/vexel"));
  expect(await hintOf([path], { cwd: "/usr" })).toBe(hint(path));
});

test("npx, with an installed package and with a packed one", async () => {
  const env = { npm_lifecycle_event: "npx" };
  const installed = link("project", "node_modules", ".bin", "vexel");
  expect(await hintOf([installed], { env })).toBe(hint("npx vexel"));
  const packed = link("cache", "node_modules", ".bin", "vexel");
  // What npx writes (npm 11).
  const manifest = { _npx: { packages: ["./vexel-0.1.0.tgz"] } };
  writeFileSync(join(folder.path, "cache", "package.json"), JSON.stringify(manifest));
  expect(await hintOf([packed], { env })).toBe(hint("npx ./vexel-0.1.0.tgz"));
});

test("npm start, and the container", async () => {
  const start = [process.execPath, "--no-install", join(root, "cli/start.ts")];
  const npm = await hintOf(start, { env: { npm_lifecycle_event: "start" } });
  expect(npm).toBe(hint("npm start --"));
  const command = image.Env.find((each) => each.startsWith("VEXEL_COMMAND="))?.split("=")[1] ?? "";
  expect(command).toStartWith("docker exec CONTAINER /opt/vexel/");
  expect(await hintOf(start, { env: { VEXEL_COMMAND: command } })).toBe(hint(command));
});
