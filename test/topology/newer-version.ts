/**
 * A newer version of the gateway: a copy of this one with another version number, and with one more migration, which
 * expands the schema as every migration must. Both versions run side by side.
 */
import { cpSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness.ts";

export interface GatewayVersion {
  readonly version: string;
  /** The value for `program` of `startProcess`. */
  readonly folder: string;
}

export const addedMigration = "9999-added";

/** A nullable column in every table, and a new table. */
const migrations = `
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
        END LOOP;
      END $$\`,
      "CREATE TABLE vexel.added (id TEXT PRIMARY KEY)",
    ],
  },
];
`;

export function buildNewerVersion(folder: string): GatewayVersion {
  // Imports resolve links, so the sources have to be copies. `cli` imports the rest of them.
  for (const part of ["cli", "console", "contract", "server", "package.json"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const manifest = join(folder, "package.json");
  const version = "999.0.0";
  writeFileSync(
    manifest,
    JSON.stringify({ ...JSON.parse(readFileSync(manifest, "utf8")), version }),
  );
  const index = join(folder, "server/storage/postgres/migrations/index.ts");
  renameSync(index, join(index, "../released.ts"));
  writeFileSync(index, migrations);
  return { version, folder };
}
