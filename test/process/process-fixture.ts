/** Runs the command line in tests: to its end, or as an installed package. */
import { spyOn } from "bun:test";
import { cpSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../cli/run-command.ts";
import { command, commandEnvironment, type GatewayProcess, root } from "../harness.ts";

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** An environment without the machine's own settings and provider keys. */
export const cleanEnvironment = (more: Readonly<Record<string, string>> = {}) => ({
  PATH: process.env.PATH ?? "",
  HOME: process.env.HOME ?? "/tmp",
  ...more,
});

let previous: Promise<unknown> = Promise.resolve();

/**
 * Runs `vexel ARGS` to its end, in this process: a process of its own would spend most of its time with loading
 * modules. One at a time, because a command reads the environment and the working directory of the process.
 */
export function vexel(args: readonly string[], options: CommandOptions): Promise<Ended> {
  const ended = previous.then(() => runInThisProcess(args, options));
  previous = ended.catch(() => undefined);
  return ended;
}

async function runInThisProcess(
  args: readonly string[],
  { cwd, env = {} }: CommandOptions,
): Promise<Ended> {
  const written = { out: "", err: "" };
  const collect = (stream: NodeJS.WriteStream, name: keyof typeof written) =>
    spyOn(stream, "write").mockImplementation((text) => {
      written[name] += text;
      return true;
    });
  const spies = [collect(process.stdout, "out"), collect(process.stderr, "err")];
  const [ownEnvironment, ownFolder] = [process.env, process.cwd()];
  process.env = cleanEnvironment(env);
  process.chdir(cwd);
  try {
    const code = await runCommand(args);
    return { code, ...written };
  } finally {
    process.chdir(ownFolder);
    process.env = ownEnvironment;
    for (const spy of spies) spy.mockRestore();
  }
}

/** Runs `vexel ARGS` to its end in a process of its own, as a user does. */
export async function vexelProcess(
  args: readonly string[],
  { cwd, env = {} }: CommandOptions,
): Promise<Ended> {
  const child = Bun.spawn([...command, ...args], {
    cwd,
    env: { ...cleanEnvironment(env), ...commandEnvironment },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const late = setTimeout(() => child.kill("SIGKILL"), 20_000);
  const [code, out, err] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  clearTimeout(late);
  return { code, out, err };
}

/**
 * The package as it is when installed as a dependency: without the lock file that would make
 * `bin/vexel.mjs` install anything into the real node_modules. Returns the folder of its launchers.
 */
export function installedCopy(folder: string): string {
  const home = join(folder, "package");
  mkdirSync(home);
  cpSync(join(root, "bin"), join(home, "bin"), { recursive: true });
  for (const name of ["cli", "server", "contract", "node_modules", "package.json"]) {
    symlinkSync(join(root, name), join(home, name));
  }
  return join(home, "bin");
}

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** The open files of a process in the data folder, without sockets and files of the runtime. */
export const filesOf = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`)
    .flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
      } catch {
        return [];
      }
    })
    .filter((path) => path.includes("/vexel-"))
    .map((path) => path.replace(/-[\da-f-]{36}\./, "-ID."))
    .toSorted();

/** A script that runs in a gateway before it starts. */
export const preloadPath = (name: string): string => join(import.meta.dir, "preload", name);

/** How many times the process has started the gateway. */
export const startsOf = ({ output }: Pick<GatewayProcess, "output">): number =>
  output().split("Base URL").length - 1;
