/** The files and uploads of clients on a real database and disk, with a clock that a test advances. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createClientFiles } from "../../server/files/client-files.ts";
import { createReceivingFiles } from "../../server/files/receiving-files.ts";
import { createUploads } from "../../server/files/uploads.ts";
import { ByteTurns } from "../../server/lib/byte-turns.ts";
import { StoredFiles } from "../../server/storage/files/stored-files.ts";
import { createFileIndex } from "../../server/storage/sql/file-index.ts";
import { createUploadStore } from "../../server/storage/sql/upload-store.ts";
import { openJobDatabase } from "../../server/storage/sqlite/job-database.ts";

export const owner = "project:one";

export function openFiles(
  folder: string,
  disk: ConstructorParameters<typeof StoredFiles>[0]["disk"],
  quotas = { owner: 100_000, all: 100_000 },
) {
  const clock = { now: Date.now() };
  const now = (): number => clock.now;
  const log = { warn: () => undefined };
  const db = openJobDatabase(folder, now);
  const contents = new StoredFiles({ folder: join(folder, "files"), disk, now });

  const index = createFileIndex(db);
  const turns = new ByteTurns(() => 0);
  const receiving = createReceivingFiles({ index, store: contents, quotas, turns });
  const files = createClientFiles({ index, store: contents, receiving, log, now });
  const uploads = createUploads({
    store: createUploadStore(db),
    contents,
    files,
    index,
    receiving,
    turns,
    expiryOf: () => null,
    log,
    now,
  });
  const stored = (): string[] =>
    readdirSync(join(folder, "files"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort();
  const space = async (): Promise<number> => (await index.space(owner)).owner;
  return {
    clock,
    contents,
    db,
    files,
    index,
    receiving,
    uploads,
    space,
    stored,
    close: () => db.close(),
  };
}
