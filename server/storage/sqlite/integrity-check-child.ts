/** Child process of the integrity check: checks the SQLite files named by its arguments. See `integrity-check.ts`. */
import { Database } from "bun:sqlite";
import { constants, setPriority } from "node:os";
import { errorCode, errorMessage } from "../../lib/error-code.ts";

/** What this process writes to standard output. */
export interface CheckResult {
  readonly damage?: string;
  readonly failure?: string;
}

/** SQLite's codes for a damaged file. Other errors, such as a lock, do not mean damage. */
const damage = /^SQLITE_(CORRUPT|NOTADB)/;

function check(path: string): CheckResult {
  let db: Database | undefined;
  try {
    db = new Database(path, { readonly: true, strict: true });
    db.run("PRAGMA busy_timeout = 5000");
    const row = db.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get();
    const found = row?.quick_check ?? "no result";
    return found === "ok" ? {} : { damage: `${path} is damaged: ${found.replace(/\s+/g, " ")}` };
  } catch (error) {
    const reason = `${path}: ${errorMessage(error)}`;
    return damage.test(errorCode(error))
      ? { damage: `${path} is damaged: ${reason}` }
      : { failure: reason };
  } finally {
    db?.close();
  }
}

try {
  setPriority(constants.priority.PRIORITY_LOW);
} catch {
  // A container may forbid it. The check works without it.
}
const results = process.argv.slice(2).map(check);
const worst = results.find(({ damage }) => damage) ?? results.find(({ failure }) => failure) ?? {};
process.stdout.write(JSON.stringify(worst));
