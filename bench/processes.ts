/** Starts the processes of a run on their cores, and ends every one of them however the run ends. */

import { closeSync, openSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { treeOf } from "./proc.ts";

/** The proxy under test has a core to itself; upstream, load and this script share the other. */
export const cores = { proxy: 0, rest: 1 } as const;

export const pinned = Bun.which("taskset") !== null && availableParallelism() > 1;

export interface Running {
  readonly pid: number;
  /** Milliseconds on the clock of `performance.now()`, taken just before the process was made. */
  readonly startedAt: number;
  /** Of those that were started to be listened to. */
  readonly output: ReadableStream<Uint8Array>;
  readonly exited: Promise<number>;
  /** Heard by those that were started to be listened to: who is not talked with has no input. */
  say(line: string): void;
  /** The last of what it complained about. */
  complaints(): string;
  stop(): Promise<void>;
}

const running = new Map<number, Running>();

function signalTree(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  for (const each of treeOf(pid)) {
    try {
      process.kill(each, signal);
    } catch {
      // Gone already.
    }
  }
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The bench reads its output and writes to its input. */
  readonly listen?: boolean;
  /** Its output goes to this file, as that of a service does: a pipe would have to be read by the bench. */
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
    // A clean environment: a provider key in the caller's would add upstreams to the gateway.
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/tmp", ...env },
    stdin: listen ? "pipe" : "ignore",
    stdout: log ?? "pipe",
    stderr: "pipe",
  });
  if (log !== undefined) closeSync(log);
  const stdout = child.stdout instanceof ReadableStream ? child.stdout : undefined;
  let heard = "";
  const overhear = async (stream: ReadableStream<Uint8Array>) => {
    const text = new TextDecoder();
    for await (const piece of stream) heard = (heard + text.decode(piece)).slice(-2000);
  };
  void overhear(child.stderr);
  // Unread output would fill its pipe and then stop the process.
  if (!listen && stdout) void overhear(stdout);
  void child.exited.then(() => running.delete(child.pid));
  const started: Running = {
    pid: child.pid,
    startedAt,
    output: stdout ?? new ReadableStream(),
    exited: child.exited,
    say: (line) => {
      child.stdin?.write(`${line}\n`);
      child.stdin?.flush();
    },
    complaints: () => (heard + (logFile ? readFileSync(logFile, "utf8").slice(-2000) : "")).trim(),
    stop: async () => {
      // The number of a process that has ended may be somebody else's by now.
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

/** Also keeps this script off the proxy's core, and ends it when it takes longer than it may. */
export function endWithUs(mostMs: number): void {
  if (pinned) Bun.spawnSync(["taskset", "-acp", String(cores.rest), String(process.pid)]);
  process.on("exit", killAll);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => void stopAll().then(() => process.exit(130)));
  setTimeout(() => {
    console.error(`bench: not done after ${mostMs / 1000} s, giving up`);
    process.exit(2);
  }, mostMs).unref();
}

/** What a process says, line by line. */
export async function* linesOf({ output, complaints }: Running): AsyncGenerator<string, never> {
  const text = new TextDecoder();
  let said = "";
  for await (const piece of output) {
    const lines = (said + text.decode(piece, { stream: true })).split("\n");
    said = lines.pop() ?? "";
    yield* lines;
  }
  throw new Error(`a process of the bench ended early: ${complaints() || "without a word"}`);
}

/** What a process says first, e.g. its port. */
export const firstLine = async (child: Running): Promise<string> =>
  (await linesOf(child).next()).value;

/** A port that was free a moment ago. */
export function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

/** Resolves with the clock when the address answers 200. */
export async function ready(url: string, child: Running, mostMs = 15_000): Promise<number> {
  const until = performance.now() + mostMs;
  let ended = false;
  void child.exited.then(() => {
    ended = true;
  });
  while (performance.now() < until && !ended) {
    const status = await fetch(url, { keepalive: false }).then(
      async (answer) => {
        await answer.arrayBuffer();
        return answer.status;
      },
      () => 0,
    );
    if (status === 200) return performance.now();
    await Bun.sleep(4);
  }
  throw new Error(
    `${url} was not ready${ended ? ", the process ended" : ` within ${mostMs} ms`}: ${child.complaints()}`,
  );
}
