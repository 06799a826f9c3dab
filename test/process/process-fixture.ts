/** Runs the command line in tests: to its end, or as an installed package. */
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness.ts";

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** An environment without the machine's own settings and provider keys. */
export const cleanEnvironment = (more: Readonly<Record<string, string>> = {}) => ({
  PATH: process.env.PATH ?? "",
  HOME: process.env.HOME ?? "/tmp",
  ...more,
});

/** Runs `vexel ARGS` to its end. */
export async function vexel(
  args: readonly string[],
  { cwd, env = {} }: CommandOptions,
): Promise<Ended> {
  const child = Bun.spawn([process.execPath, join(root, "cli", "main.ts"), ...args], {
    cwd,
    env: cleanEnvironment(env),
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
 * `bin/vexel.mjs` install anything into the real node_modules.
 */
export function installedCopy(folder: string): string {
  const home = join(folder, "package");
  mkdirSync(home);
  cpSync(join(root, "bin"), join(home, "bin"), { recursive: true });
  for (const name of ["cli", "server", "contract", "node_modules", "package.json"]) {
    symlinkSync(join(root, name), join(home, name));
  }
  return join(home, "bin", "vexel.mjs");
}

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
