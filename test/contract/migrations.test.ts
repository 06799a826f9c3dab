/**
 * Migrations that were released never change: databases that have applied them would differ from new ones. Their
 * checksums are in migrations.golden.json.
 */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../package.json";
import { postgresMigrations } from "../../server/storage/postgres/migrations/index.ts";
import { backlogMigrations } from "../../server/storage/sqlite/migrations/backlog.ts";
import { eventMigrations } from "../../server/storage/sqlite/migrations/events.ts";
import { gatewayMigrations } from "../../server/storage/sqlite/migrations/gateway.ts";
import { jobMigrations } from "../../server/storage/sqlite/migrations/jobs.ts";
import { lastKnownMigrations } from "../../server/storage/sqlite/migrations/last-known.ts";
import { ledgerMigrations } from "../../server/storage/sqlite/migrations/ledger.ts";
import { vectorMigrations } from "../../server/storage/sqlite/migrations/vectors.ts";

const path = join(import.meta.dir, "migrations.golden.json");

/** The checksums of the migrations of each database, by name. */
type Checksums = Readonly<Record<string, Readonly<Record<string, string>>>>;

const checksumsOf = (migrations: readonly { readonly name: string }[]): Record<string, string> =>
  Object.fromEntries(
    migrations.map((migration) => [
      migration.name,
      createHash("sha256").update(JSON.stringify(migration)).digest("hex"),
    ]),
  );

const current: Checksums = {
  PostgreSQL: checksumsOf(postgresMigrations),
  "backlog.db": checksumsOf(backlogMigrations),
  "events.db": checksumsOf(eventMigrations),
  "jobs.db": checksumsOf(jobMigrations),
  "last-known.db": checksumsOf(lastKnownMigrations),
  "ledger.db": checksumsOf(ledgerMigrations),
  "vectors.db": checksumsOf(vectorMigrations),
  "vexel.db": checksumsOf(gatewayMigrations),
};

/** Before 1.0.0, databases of earlier commits are not carried. */
const isReleased = !version.startsWith("0.");
const advice = isReleased
  ? "A migration that was released was changed or removed: undo that, and append a new migration."
  : "The tables changed. Write the list again: UPDATE_GOLDENS=1 npm test -- test/contract. From 1.0.0 on, append a new migration instead.";

test("no migration that was released has changed", () => {
  const listed = (): Checksums => JSON.parse(readFileSync(path, "utf8"));
  // A migration that is appended is added to the list. One that was released stays as it is listed.
  const updated = isReleased
    ? Object.fromEntries(
        Object.entries(current).map(([name, own]) => [name, { ...own, ...listed()[name] }]),
      )
    : current;
  if (process.env.UPDATE_GOLDENS === "1")
    writeFileSync(path, `${JSON.stringify(updated, undefined, 1)}\n`);
  expect(updated, advice).toEqual(current);
  expect(
    listed(),
    isReleased
      ? "A new migration is not in the list: UPDATE_GOLDENS=1 npm test -- test/contract."
      : advice,
  ).toEqual(current);
});
