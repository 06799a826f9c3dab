/**
 * A newer version of the gateway: a copy of this one with another version number, and with one more migration of
 * PostgreSQL and one of `ledger.db`, which expand the schema, as every migration must, and fill in values. Both versions
 * run side by side.
 */
import {
  appendFileSync,
  cpSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { checkOut } from "../../bench/checkout.ts";
import { version as ownVersion } from "../../package.json";
import { root } from "../harness.ts";

export interface GatewayVersion {
  readonly version: string;
  /** The value for `program` of `startProcess`. */
  readonly folder: string;
}

export const addedMigration = "9999-added";

/**
 * The first release, for a test of an upgrade from it. Until a version after it is made, the working tree stands for it.
 * A missing tag fails the test.
 */
export function firstRelease(folder: string): GatewayVersion {
  const isLater = !ownVersion.startsWith("0.") && ownVersion !== "1.0.0";
  return isLater
    ? { version: "1.0.0", folder: checkOut("v1.0.0", folder).folder }
    : { version: ownVersion, folder: root };
}

/** A nullable column in every table, and a new table with a row for each key. */
const postgresMigration = `
import type { PostgresMigration } from "../migrate.ts";
import { postgresMigrations as released } from "./released.ts";

export const postgresMigrations: readonly PostgresMigration[] = [
  ...released,
  {
    name: "${addedMigration}",
    statements: [
      \`DO $$
      DECLARE added regclass;
      BEGIN
        FOR added IN
          SELECT oid FROM pg_class
          WHERE relnamespace = 'vexel'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
        LOOP
          EXECUTE format('ALTER TABLE %s ADD COLUMN added TEXT', added);
          EXECUTE format('UPDATE %s SET added = %L', added, 'by the migration');
        END LOOP;
      END $$\`,
      "CREATE TABLE vexel.added (id TEXT PRIMARY KEY)",
      "INSERT INTO vexel.added SELECT id FROM vexel.keys",
    ],
  },
];
`;

const ledgerMigration = `
import type { Migration } from "../migrate.ts";
import { ledgerMigrations as released } from "./ledger-released.ts";

export const ledgerMigrations: readonly Migration[] = [
  ...released,
  {
    name: "${addedMigration}",
    statements: [
      "ALTER TABLE ledger ADD COLUMN added TEXT",
      "UPDATE ledger SET added = 'by the migration'",
    ],
  },
];
`;

export function buildNewerVersion(folder: string): GatewayVersion {
  // Imports resolve links, so the sources have to be copies. `cli` imports the rest of them.
  for (const part of ["cli", "console", "contract", "server", "package.json", "package-lock.json"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const manifest = join(folder, "package.json");
  const version = "999.0.0";
  writeFileSync(
    manifest,
    JSON.stringify({ ...JSON.parse(readFileSync(manifest, "utf8")), version }),
  );
  const storage = join(folder, "server/storage");
  const index = join(storage, "postgres/migrations/index.ts");
  renameSync(index, join(index, "../released.ts"));
  writeFileSync(index, postgresMigration);
  const ledger = join(storage, "sqlite/migrations/ledger.ts");
  renameSync(ledger, join(ledger, "../ledger-released.ts"));
  writeFileSync(ledger, ledgerMigration);
  // Another build of the console.
  const page = join(folder, "console/src/features/audit/audit.tsx");
  appendFileSync(page, '\nconsole.debug("the newer version");\n');
  return { version, folder };
}
