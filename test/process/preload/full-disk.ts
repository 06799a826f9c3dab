/**
 * Preloaded into a gateway: while the file TEST_DISK_FULL exists, ledger writes fail with ENOSPC; and garbage is
 * collected often.
 */
import { existsSync } from "node:fs";
import { OutboxFile } from "../../../server/storage/files/outbox.ts";
import { SqliteLedgerStore } from "../../../server/storage/sqlite/ledger-store.ts";

const mark = process.env.TEST_DISK_FULL ?? "";

function check(): void {
  if (!existsSync(mark)) return;
  throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
}

const { append } = OutboxFile.prototype;
OutboxFile.prototype.append = function (rows) {
  check();
  append.call(this, rows);
};
const { write } = SqliteLedgerStore.prototype;
SqliteLedgerStore.prototype.write = function (rows) {
  check();
  return write.call(this, rows);
};

setInterval(() => Bun.gc(true), 100);
