/** Backup of a PostgreSQL database with `pg_dump`, and its restoration with `pg_restore`. */
import { StoreError } from "../sqlite/open-database.ts";

/** Writes the schema `vexel` to a file. Rejects with StoreError. */
export const dumpDatabase = (url: string, file: string): Promise<void> =>
  run("pg_dump", url, ["--format=custom", "--no-owner", "--schema=vexel", `--file=${file}`]);

/** The database must have no schema `vexel`. All tables are restored, or none. Rejects with StoreError. */
export const restoreDatabase = (url: string, file: string): Promise<void> =>
  run("pg_restore", url, ["--exit-on-error", "--single-transaction", "--no-owner", file]);

async function run(program: string, url: string, args: readonly string[]): Promise<void> {
  const path = Bun.which(program);
  if (path === null) {
    throw new StoreError(
      `${program} was not found. Install the client programs of PostgreSQL (Debian: postgresql-client), of the server's version or a later one, on the machine that runs this command.`,
    );
  }
  const { text, environment } = withoutPassword(url);
  const child = Bun.spawn([path, `--dbname=${text}`, ...args], {
    env: { ...process.env, ...environment },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const [message, exitCode] = await Promise.all([child.stderr.text(), child.exited]);
  if (exitCode === 0) return;
  const hint = /schema "vexel" already exists/.test(message)
    ? ' The database must have no schema "vexel": use an empty database, or drop the schema first.'
    : "";
  throw new StoreError(`${program} failed: ${message.trim()}${hint}`);
}

/** The process list shows arguments to all users of the machine, so the password goes to the environment. */
function withoutPassword(url: string): { text: string; environment: Record<string, string> } {
  const parsed = new URL(url);
  const { password } = parsed;
  parsed.password = "";
  const authority = process.env.NODE_EXTRA_CA_CERTS;
  return {
    text: parsed.href,
    environment: {
      ...(password !== "" && { PGPASSWORD: decodeURIComponent(password) }),
      // The gateway's own connection trusts this file; libpq has a variable of its own.
      ...(authority && !process.env.PGSSLROOTCERT && { PGSSLROOTCERT: authority }),
    },
  };
}
