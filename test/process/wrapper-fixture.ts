/** The launchers of the command `vexel`, started as a user does. */
import { afterEach, expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import { cleanEnvironment, installedCopy, isAlive } from "./process-fixture.ts";

const started: { kill(signal: NodeJS.Signals): void; readonly exited: Promise<number> }[] = [];
const gateways: number[] = [];
/** Kills the processes after each test of the file that calls this. */
export function killWrappersAfterEach(): void {
  afterEach(async () => {
    for (const child of started.splice(0)) {
      child.kill("SIGKILL");
      await child.exited;
    }
    for (const pid of gateways.splice(0)) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  });
}

/** `sh`: what npm links as `vexel`. `node`: what runs on Windows, under npx, and before packages are installed. */
export const launchers = ["sh", "node"] as const;
export type Launcher = (typeof launchers)[number];

export function spawnWrapper(folder: string, launcher: Launcher, args: readonly string[] = []) {
  const bin = installedCopy(folder);
  const command = launcher === "sh" ? [join(bin, "vexel")] : ["node", join(bin, "vexel.mjs")];
  const child = Bun.spawn([...command, ...args], {
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

export async function startWrapper(folder: string, launcher: Launcher) {
  const wrapper = spawnWrapper(folder, launcher);
  await until(() => /Base URL {2}\S+\/v1/.test(wrapper.output()));
  const url = /Base URL {2}(\S+)\/v1/.exec(wrapper.output())![1]!;
  return { ...wrapper, url, pid: gatewayOf(wrapper.child.pid) };
}

/** Starts the wrapper, signals it, and expects that the gateway has stopped as the signal says. */
export async function stopBy(
  launcher: Launcher,
  signal: "SIGTERM" | "SIGINT" | "SIGHUP",
): Promise<void> {
  using folder = temporaryFolder();
  const { child, pid, output, gathering } = await startWrapper(folder.path, launcher);
  child.kill(signal);
  expect(await child.exited).toBe(0);
  await gathering;
  expect(output()).toContain(`"reason":"${signal}"`);
  expect(output()).toContain('"event":"stopped"');
  await until(() => !isAlive(pid));
}
