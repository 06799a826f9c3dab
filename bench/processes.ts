/** Starts the processes of a run on their cores, and ends all of them, however the run ends. */

import { closeSync, openSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { treeOf } from "./proc.ts";

/** The proxy under test has a core of its own; upstream, load generator and this script share the other. */
export const cores = { proxy: 0, rest: 1 } as const;

export const pinned = Bun.which("taskset") !== null && availableParallelism() > 1;

export interface Running {
  readonly pid: number;
  /** Milliseconds on the clock of `performance.now()`, taken just before the process was spawned. */
  readonly startedAt: number;
  /** Standard output, with the option `listen`. */
  readonly output: ReadableStream<Uint8Array>;
  readonly exited: Promise<number>;
  /** Writes a line to standard input, with the option `listen`. */
  writeLine(line: string): void;
  /** The last part of its standard error and log. */
  errorOutput(): string;
  stop(): Promise<void>;
}

const running = new Map<number, Running>();

function signalTree(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  for (const each of treeOf(pid)) {
    try {
      process.kill(each, signal);
    } catch {
      // The process has ended.
    }
  }
}

interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The bench reads its output and writes to its input. */
  readonly listen?: boolean;
  /** The file for its output, as for a service: the bench would have to read a pipe. */
  readonly logFile?: string;
}

export function start(
  command: readonly string[],
  core: number,
  { env = {}, listen = false, logFile }: StartOptions = {},
): Running {
  const log = logFile === undefined ? undefined : openSync(logFile, "a");
  const startedAt = performance.now();
  const child = Bun.spawn([...(pinned ? ["taskset", "-c", String(core)] : []), ...command], {
    // A clean environment: a provider key of the user's would add upstreams to the gateway.
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/tmp", ...env },
    stdin: listen ? "pipe" : "ignore",
    stdout: log ?? "pipe",
    stderr: "pipe",
  });
  if (log !== undefined) closeSync(log);
  const stdout = child.stdout instanceof ReadableStream ? child.stdout : undefined;
  let captured = "";
  const capture = async (stream: ReadableStream<Uint8Array>) => {
    const text = new TextDecoder();
    for await (const bytes of stream) captured = (captured + text.decode(bytes)).slice(-2000);
  };
  void capture(child.stderr);
  // A full output pipe would block the process.
  if (!listen && stdout) void capture(stdout);
  void child.exited.then(() => running.delete(child.pid));
  const started: Running = {
    pid: child.pid,
    startedAt,
    output: stdout ?? new ReadableStream(),
    exited: child.exited,
    writeLine: (line) => {
      child.stdin?.write(`${line}\n`);
      child.stdin?.flush();
    },
    errorOutput: () =>
      (captured + (logFile ? readFileSync(logFile, "utf8").slice(-2000) : "")).trim(),
    stop: async () => {
      // The PID of an ended process may be reused.
      if (!running.has(child.pid)) return;
      signalTree(child.pid, "SIGTERM");
      const late = setTimeout(() => signalTree(child.pid, "SIGKILL"), 3000);
      await child.exited;
      clearTimeout(late);
    },
  };
  running.set(child.pid, started);
  return started;
}

export async function stopAll(except?: Running): Promise<void> {
  const others = [...running.values()].filter((child) => child !== except);
  await Promise.all(others.map((child) => child.stop()));
}

function killAll(): void {
  for (const pid of running.keys()) signalTree(pid, "SIGKILL");
}

/**
 * Ends all processes when this script ends, and the script when it exceeds its timeout. Also keeps the script off the
 * proxy's core.
 */
export function endWithParent(timeoutMs: number): void {
  if (pinned) Bun.spawnSync(["taskset", "-acp", String(cores.rest), String(process.pid)]);
  process.on("exit", killAll);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => void stopAll().then(() => process.exit(130)));
  setTimeout(() => {
    console.error(`bench: timed out after ${timeoutMs / 1000} s`);
    process.exit(2);
  }, timeoutMs).unref();
}

/** The output of a process, line by line. */
export async function* linesOf({ output, errorOutput }: Running): AsyncGenerator<string, never> {
  const text = new TextDecoder();
  let rest = "";
  for await (const bytes of output) {
    const lines = (rest + text.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  throw new Error(`a process of the bench ended early: ${errorOutput() || "without a message"}`);
}

/** The first line of output, for example the port. */
export const firstLine = async (child: Running): Promise<string> =>
  (await linesOf(child).next()).value;

/** A port that was free just now. */
export function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

/** Resolves with the time at which the address responds with 200. */
export async function ready(url: string, child: Running, timeoutMs = 15_000): Promise<number> {
  const until = performance.now() + timeoutMs;
  let ended = false;
  void child.exited.then(() => {
    ended = true;
  });
  while (performance.now() < until && !ended) {
    const status = await fetch(url, { keepalive: false }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
    if (status === 200) return performance.now();
    await Bun.sleep(4);
  }
  throw new Error(
    `${url} was not ready${ended ? ", the process ended" : ` within ${timeoutMs} ms`}: ${child.errorOutput()}`,
  );
}
