/** Requests in flight in the outbox: one that may have been billed is charged after a kill, once. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OutboxFile } from "../../server/storage/files/outbox.ts";
import { OutboxRecovery } from "../../server/storage/files/outbox-recovery.ts";
import type { InFlightRequest } from "../../server/storage/ports/ledger-row.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { noon } from "../budgets/budgets-fixture.ts";
import { temporaryFolder } from "../harness.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { spentIn } from "../ledger/stored-rows.ts";

const openOutbox = (folder: string) =>
  new OutboxFile({
    folder,
    id: Bun.randomUUIDv7(),
    onError: (error) => {
      throw error;
    },
  });
const request = () => ({ ...ledgerRow(noon), estimate: 0.04 });
const recoveryOf = (folder: string) =>
  new OutboxRecovery(folder, { append: async () => undefined });
/** The row that the next process recovers. */
const recoveredRow = ({ requestId }: InFlightRequest) =>
  ledgerRow(noon, {
    requestId,
    estimatedCost: 0.04,
    status: 500,
    error: "internal",
    attempts: 0,
    latencyMs: 0,
    steps: "the gateway was killed before the request finished",
  });
/** A copy of the file, as a killed process leaves it. */
function leaveCopy(folder: string, cutBytes = 0): void {
  const copy = "outbox-999999999-a.log";
  const name = readdirSync(folder).find((each) => each !== copy);
  const bytes = readFileSync(join(folder, name!));
  writeFileSync(join(folder, copy), bytes.subarray(0, bytes.length - cutBytes));
}

test("requests in flight are recovered even if another process has the PID of the killed one", () => {
  using folder = temporaryFolder();
  const outbox = openOutbox(folder.path);
  outbox.begin(request());
  outbox.flush();
  const [name] = readdirSync(folder.path);
  // The parent's PID is in use for certain.
  const copy = join(folder.path, `outbox-${process.ppid}-a.log`);
  writeFileSync(copy, readFileSync(join(folder.path, name!)));
  expect(recoveryOf(folder.path).rows).toHaveLength(1);
  outbox.close();
});

test("the file is empty when every request has its row in the store, and gone after a clean shutdown", () => {
  using folder = temporaryFolder();
  const outbox = openOutbox(folder.path);
  const only = request();
  outbox.begin(only);
  outbox.flush();
  outbox.append([ledgerRow(noon, { requestId: only.requestId })]);
  outbox.markStored(1);
  expect(Bun.file(outbox.path).size).toBe(0);
  outbox.close();
  expect(readdirSync(folder.path)).toEqual([]);
});

test("no request is charged again whose row is in the outbox or in the ledger", async () => {
  using folder = temporaryFolder();
  const outbox = openOutbox(folder.path);
  const [pending, stored] = [request(), request()];
  for (const each of [pending, stored]) outbox.begin(each);
  outbox.flush();
  outbox.append([ledgerRow(noon, { requestId: pending.requestId, cost: 0.01 })]);
  outbox.close();
  const ledger = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
  await ledger.append([ledgerRow(noon, { requestId: stored.requestId, cost: 0.02 })]);
  const recovery = new OutboxRecovery(folder.path, ledger);
  const owner = { scope: "key", id: "file:ci" } as const;
  await recovery.recover();
  expect(spentIn(ledger, owner, "total")).toBe(0.03);
  await ledger.close();
});

test("a request whose row is stored is not charged again after a kill, however often it was attempted", async () => {
  using folder = temporaryFolder();
  const outbox = openOutbox(folder.path);
  const [stored, other] = [request(), request()];
  outbox.begin(stored);
  outbox.flush();
  outbox.begin(stored);
  outbox.release(stored.requestId);
  outbox.begin(other);
  outbox.flush();
  leaveCopy(folder.path);
  outbox.close();
  rmSync(outbox.path);
  expect(recoveryOf(folder.path).rows).toEqual([recoveredRow(other)]);
});

test("requests in flight are recovered up to the torn record after a power failure", () => {
  using folder = temporaryFolder();
  const whole = request();
  const outbox = openOutbox(folder.path);
  for (const each of [whole, request()]) {
    outbox.begin(each);
    outbox.flush();
  }
  leaveCopy(folder.path, 40);
  outbox.close();
  rmSync(outbox.path);
  const recovery = recoveryOf(folder.path);
  expect(recovery).toMatchObject({ interrupted: 1, damaged: [], torn: 1 });
  expect(recovery.rows).toEqual([recoveredRow(whole)]);
});
