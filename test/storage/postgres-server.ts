/**
 * A PostgreSQL server for tests, from Debian's package: an unprivileged process with its own folder and port, which can
 * be stopped and started again.
 */
import { randomUUID } from "node:crypto";
import { chownSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import type { Certificate } from "../certificate-fixture.ts";
import { pathOf, testWith } from "../programs.ts";
import { until } from "../until.ts";

export const testWithPostgres = testWith("postgresql");

/** Since version 15, PostgreSQL by default copies a database through its log, which takes more CPU time. */
const hasStrategies = (): boolean => Number(pathOf("postgresql").split("/").at(-2)) >= 15;

/** PostgreSQL refuses to run as root. */
const isRoot = process.getuid?.() === 0;
const [nobody, nogroup] = [65_534, 65_534];
export const unprivileged = isRoot
  ? ["setpriv", `--reuid=${nobody}`, `--regid=${nogroup}`, "--clear-groups"]
  : ["setpriv"];

export class PostgresServer {
  readonly #folder = mkdtempSync(join(tmpdir(), "vexel-postgres-"));
  readonly port: number;
  #process: Bun.Subprocess | undefined;
  #options: readonly string[] = [];

  /** `primary`: a running server, of which this one becomes a standby (streaming replication). */
  constructor(port: number, primary?: PostgresServer) {
    this.port = port;
    if (isRoot) chownSync(this.#folder, nobody, nogroup);
    const [program, options] = primary
      ? ["pg_basebackup", `-h 127.0.0.1 -p ${primary.port} -U vexel -R -X stream -c fast --no-sync`]
      : ["initdb", "-U vexel -A trust --no-sync -E UTF8 --locale=C.UTF-8"];
    const path = join(pathOf("postgresql"), program);
    const { exitCode, stderr } = Bun.spawnSync(
      [...unprivileged, path, "-D", join(this.#folder, "data"), ...options.split(" ")],
      { cwd: this.#folder },
    );
    if (exitCode !== 0) throw new Error(`${program} failed: ${stderr}`);
    removeAtExit(this.#folder);
  }

  /** Accepts TLS connections, from the next start. Others are refused. */
  requireTls({ cert, key }: Certificate): void {
    const data = join(this.#folder, "data");
    for (const [name, text] of Object.entries({ "server.crt": cert, "server.key": key })) {
      writeFileSync(join(data, name), text, { mode: 0o600 });
      if (isRoot) chownSync(join(data, name), nobody, nogroup);
    }
    writeFileSync(join(data, "pg_hba.conf"), "hostssl all all 127.0.0.1/32 trust\n");
    this.#options = ["-c", "ssl=on"];
  }

  async start(): Promise<void> {
    const program = join(pathOf("postgresql"), "postgres");
    const folders = ["-D", join(this.#folder, "data"), "-k", this.#folder];
    const ofServer = `-p ${this.port} -c listen_addresses=127.0.0.1`;
    // Less CPU time: no test stops the whole machine, and no query is long enough to be worth compiling.
    const options = `${ofServer} -c fsync=off -c full_page_writes=off -c jit=off`.split(" ");
    this.#process = Bun.spawn(
      // The server ends with the test process, also after kill -9.
      [
        ...unprivileged,
        "--pdeathsig",
        "SIGQUIT",
        program,
        ...folders,
        ...options,
        ...this.#options,
      ],
      { cwd: this.#folder, stdin: "ignore", stdout: "ignore", stderr: "ignore" },
    );
    const { exited } = this.#process;
    let hasEnded = false;
    void exited.then(() => {
      hasEnded = true;
    });
    await until(async () => hasEnded || (await this.#accepts()));
    if (hasEnded) throw new Error(`PostgreSQL could not start. Is port ${this.port} taken?`);
  }

  /** Ends the server without a checkpoint, as a crash does (immediate shutdown). */
  async stop(): Promise<void> {
    this.#process?.kill("SIGQUIT");
    await this.#process?.exited;
    this.#process = undefined;
  }

  /** The server process, for SIGSTOP and SIGCONT. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  url(database: string): string {
    const mode = this.#options.length > 0 ? "?sslmode=require" : "";
    return `postgres://vexel@127.0.0.1:${this.port}/${database}${mode}`;
  }

  /** A database of its own: empty, or a copy of another one to which nothing is connected. */
  async createDatabase(template = "template1"): Promise<string> {
    const name = `test_${randomUUID().replaceAll("-", "")}`;
    const copyFiles = hasStrategies() ? " STRATEGY FILE_COPY" : "";
    await this.execute("postgres", `CREATE DATABASE ${name} TEMPLATE ${template}${copyFiles}`);
    return this.url(name);
  }

  async execute<Row = unknown>(database: string, statement: string): Promise<Row[]> {
    const sql = new SQL({ url: this.url(database), max: 1, connectionTimeout: 5 });
    try {
      return [...((await sql.unsafe(statement)) as Row[])];
    } finally {
      await sql.close();
    }
  }

  async #accepts(): Promise<boolean> {
    try {
      await this.execute("postgres", "SELECT 1");
      return true;
    } catch {
      return false;
    }
  }
}

/**
 * The pipe closes when the test process has ended, however it ends. Then the server ends, and its folder is removed.
 */
function removeAtExit(folder: string): void {
  const script = 'read -r _; for _ in 1 2 3 4 5; do sleep 1; rm -rf "$0" && exit; done';
  Bun.spawn(["sh", "-c", script, folder], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
  }).unref();
}

/**
 * A random port below the range from which the system takes the ports of connections and of servers without a port:
 * otherwise another process may get it before it is used.
 */
export async function freePort(): Promise<number> {
  const port = 10_000 + Math.floor(Math.random() * 20_000);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once("error", () => resolve(false));
  server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  return (await promise) ? port : freePort();
}

/** While `initdb` runs, another process may take the port that was free. Then another port is tried. */
async function startPostgres(primary?: PostgresServer, attempts = 3): Promise<PostgresServer> {
  const server = new PostgresServer(await freePort(), primary);
  try {
    await server.start();
    return server;
  } catch (error) {
    if (attempts === 1) throw error;
    return startPostgres(primary, attempts - 1);
  }
}

/** A primary, and a standby that has each commit before the primary reports it (synchronous replication). */
export async function startPostgresPair() {
  const primary = await startPostgres();
  const url = await primary.createDatabase();
  const standby = await startPostgres(primary);
  await primary.execute("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'");
  await primary.execute("postgres", "SELECT pg_reload_conf()");
  return { primary, standby, url, database: databaseName(url) };
}

let shared: Promise<PostgresServer> | undefined;

/** One server for all files of the test process. It ends with the process. */
export function sharedPostgres(): Promise<PostgresServer> {
  shared ??= startPostgres();
  return shared;
}

export const databaseName = (url: string): string => new URL(url).pathname.slice(1);
