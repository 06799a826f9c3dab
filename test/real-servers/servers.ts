/**
 * Real servers that their tests install from PyPI at pinned versions. What is installed stays in a folder, so only the
 * first run installs: `VEXEL_TEST_SERVERS`, or one in node_modules/.cache.
 */
import { describe } from "bun:test";
import { mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness.ts";
import { isHidden, type servers } from "../programs.ts";

export const folder =
  process.env.VEXEL_TEST_SERVERS ?? join(root, "node_modules/.cache/vexel-servers");

/** An installation takes minutes, and so does the start of a server on a busy machine. */
export const timeoutMs = 1_800_000;

/** Declares the tests of servers that are not left out. An installation that fails makes them fail. */
export const describeServers = (
  names: readonly (typeof servers)[number][],
  declare: () => void,
): void => describe.skipIf(names.some((name) => isHidden(name)))(names.join(", "), declare);

/**
 * No model hub and no counter of installations is asked. Xinference wants no key, installs nothing more, and waits for
 * its processes on a busy machine.
 */
const environment = {
  ...process.env,
  DO_NOT_TRACK: "1",
  HF_HUB_OFFLINE: "1",
  UV_CACHE_DIR: join(folder, "uv-cache"),
  XINFERENCE_HOME: join(folder, "xinference-home"),
  XINFERENCE_AUTH_ADVANCED: "0",
  XINFERENCE_ENABLE_VIRTUAL_ENV: "0",
  XINFERENCE_SUBPOOL_LAUNCH_TIMEOUT: "1500",
  XINFERENCE_GET_MODEL_RPC_TIMEOUT: "300",
  XINFERENCE_HEALTH_CHECK_TIMEOUT: "300",
};

export async function run(...command: readonly string[]): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const child = Bun.spawn([...command], {
    env: environment,
    cwd: folder,
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`failed: ${command.join(" ")}\n${output}${errors}`);
}

export const programOf = (environmentName: string, program: string): string =>
  join(folder, environmentName, "bin", program);

export interface RealServer {
  readonly baseUrl: string;
  readonly process: Bun.Subprocess;
}

/**
 * Below the ports that systems give to connections and to other tests: a server may bind its port only minutes later.
 */
export function freePort(): number {
  const port = 20_000 + Math.floor(Math.random() * 12_000);
  try {
    const socket = { data: () => undefined };
    Bun.listen({ hostname: "127.0.0.1", port, socket }).stop(true);
    return port;
  } catch {
    return freePort();
  }
}

/** Servers that were started, also those that did not get ready. */
const started: Bun.Subprocess[] = [];

/** Starts a server, and waits until `GET {baseUrl}/models` succeeds. */
export async function start(
  name: string,
  baseUrl: string,
  command: readonly string[],
): Promise<RealServer> {
  const log = openSync(join(folder, `${name}.log`), "a");
  const child = Bun.spawn([...command], {
    env: environment,
    cwd: folder,
    stdout: log,
    stderr: log,
  });
  started.push(child);
  for (let turn = 0; turn < 9000; turn++) {
    const response = await fetch(`${baseUrl}/models`).catch(() => undefined);
    if (response?.ok) return { baseUrl, process: child };
    if (child.exitCode !== null || child.signalCode !== null) break;
    await Bun.sleep(100);
  }
  throw new Error(`${name} did not start: its log is in ${folder}`);
}

/** Ends all servers that were started. */
export async function stopServers(): Promise<void> {
  for (const child of started) child.kill();
  await Promise.all(started.map(({ exited }) => exited));
}
