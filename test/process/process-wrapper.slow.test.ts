/** The Node wrapper of the command `vexel`, which starts Bun: signals are forwarded, and no process is orphaned. */

import { afterEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import { cleanEnvironment, installedCopy, isAlive } from "./process-fixture.ts";

const started: { kill(signal: NodeJS.Signals): void; readonly exited: Promise<number> }[] = [];
const gateways: number[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) {
    child.kill("SIGKILL");
    await child.exited;
  }
  for (const pid of gateways.splice(0)) if (isAlive(pid)) process.kill(pid, "SIGKILL");
});

function spawnWrapper(folder: string, args: readonly string[] = []) {
  const child = Bun.spawn(["node", installedCopy(folder), ...args], {
    cwd: folder,
    env: cleanEnvironment({ PORT: "0", VEXEL_DATA: join(folder, "data") }),
    stdout: "pipe",
    stderr: "pipe",
  });
  started.push(child);
  let text = "";
  const gather = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  };
  const gathering = Promise.all([gather(child.stdout), gather(child.stderr)]);
  return { child, output: () => text, gathering };
}

/** The process that serves: the wrapper itself if Node can exec Bun, otherwise its child. */
function gatewayOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  const servingPid = Number(children[0]) || pid;
  gateways.push(servingPid);
  return servingPid;
}

async function startWrapper(folder: string) {
  const wrapper = spawnWrapper(folder);
  await until(() => /Base URL {2}\S+\/v1/.test(wrapper.output()));
  const url = /Base URL {2}(\S+)\/v1/.exec(wrapper.output())![1]!;
  return { ...wrapper, url, pid: gatewayOf(wrapper.child.pid) };
}

test("SIGTERM, SIGINT and SIGHUP reach the gateway", async () => {
  const stopBy = async (signal: "SIGTERM" | "SIGINT" | "SIGHUP"): Promise<void> => {
    using folder = temporaryFolder();
    const { child, pid, output, gathering } = await startWrapper(folder.path);
    child.kill(signal);
    expect(await child.exited).toBe(0);
    await gathering;
    expect(output()).toContain(`"reason":"${signal}"`);
    expect(output()).toContain('"event":"stopped"');
    await until(() => !isAlive(pid));
  };
  await Promise.all([stopBy("SIGTERM"), stopBy("SIGINT"), stopBy("SIGHUP")]);
});

test("the wrapper serves, allows many concurrent upstream requests, and its death ends the gateway", async () => {
  using folder = temporaryFolder();
  const { child, pid, url } = await startWrapper(folder.path);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  const environment = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  expect(environment).toContain("BUN_CONFIG_MAX_HTTP_REQUESTS=65535");
  child.kill("SIGKILL");
  await child.exited;
  await until(() => !isAlive(pid));
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
});

test("killing the gateway ends the wrapper with an error", async () => {
  using folder = temporaryFolder();
  const { child, pid } = await startWrapper(folder.path);
  process.kill(pid, "SIGKILL");
  expect(await child.exited).not.toBe(0);
});

test.each<[readonly string[], number, string]>([
  [
    ["--version"],
    0,
    JSON.parse(readFileSync(join(import.meta.dir, "../../package.json"), "utf8")).version,
  ],
  [["nonsense"], 2, 'unknown command "nonsense"'],
])("the wrapper passes on arguments and the exit code: %p", async (args, code, text) => {
  using folder = temporaryFolder();
  const { child, output, gathering } = spawnWrapper(folder.path, args);
  expect(await child.exited).toBe(code);
  await gathering;
  expect(output()).toContain(text);
});
