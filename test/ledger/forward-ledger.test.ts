/** Forwarding to the shared ledger: each row arrives once, and a row that is refused stops no other. */
import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import { LedgerForwarder } from "../../server/ledger/ledger-forwarder.ts";
import { openForwarding } from "../../server/ledger/open-forwarding.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { createLog } from "../../server/lib/log.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { RejectedRowsError } from "../../server/storage/ports/ledger-store.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import { ledgerRow } from "./ledger-fixture.ts";

const idsOf = (rows: readonly LedgerRow[]): string[] => rows.map(({ requestId }) => requestId);

test("a row that the shared ledger refuses stays in the data folder, and the others arrive", async () => {
  using folder = temporaryFolder();
  const backlog = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
  const rows = Array.from({ length: 2500 }, (_, at) => ledgerRow(1000 + at));
  backlog.write(rows);
  const refused = new Set([rows[7]!.requestId, rows[1031]!.requestId]);
  const arrived: string[] = [];
  const reported: string[] = [];
  const forwarder = new LedgerForwarder({
    backlog,
    store: {
      append: async (batch) => {
        if (batch.some(({ requestId }) => refused.has(requestId)))
          throw new RejectedRowsError("refused");
        arrived.push(...idsOf(batch));
      },
    },
    report: () => undefined,
    reportBacklog: () => undefined,
    reportRejected: ({ requestId }) => reported.push(requestId),
  });
  await until(() => arrived.length === 2498);
  const late = ledgerRow(5000);
  backlog.write([late]);
  await until(() => arrived.includes(late.requestId));
  await forwarder.close();
  expect(arrived).toEqual(idsOf([...rows, late]).filter((id) => !refused.has(id)));
  expect(reported).toEqual([...refused]);
  expect(idsOf(backlog.oldest(10))).toEqual([...refused]);
  backlog.remove([...refused]);
  expect(backlog.oldest(10)).toEqual([]);
  await backlog.close();
});

test("an outage is reported once, with its reason, and a batch whose acknowledgment was lost is sent again", async () => {
  using folder = temporaryFolder();
  const backlog = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
  backlog.write(Array.from({ length: 5 }, (_, at) => ledgerRow(1000 + at, { cost: 1 })));
  const shared = new Set<string>();
  const states: [reachable: boolean, reason: string][] = [];
  const unreachable = new GatewayError("storage_unavailable", "Retry later.", {
    logDetail: "the disk is full",
  });
  let attempts = 0;
  const forwarder = new LedgerForwarder({
    backlog,
    store: {
      append: async (batch) => {
        for (const id of idsOf(batch)) shared.add(id);
        if (++attempts <= 3) throw unreachable;
      },
    },
    report: ({ reachable, reason }) => states.push([reachable, reason]),
    reportBacklog: () => undefined,
    reportRejected: () => undefined,
  });
  await until(() => states.length === 2);
  await forwarder.close();
  expect(states).toEqual([
    [false, "the disk is full"],
    [true, "rows are forwarded again"],
  ]);
  expect(shared.size).toBe(5);
  expect(backlog.oldest(10)).toEqual([]);
  // Sums of rows that were forwarded stay: a budget does not start over.
  expect(backlog.sumSpent({ scope: "key", id: "file:ci" }, "total")).toBe(5);
  await backlog.close();
});

test("a full disk of the data folder does not blame the database, is reported once, and each row arrives once", async () => {
  using folder = temporaryFolder();
  const backlog = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
  const rows = Array.from({ length: 5 }, (_, at) => ledgerRow(1000 + at));
  backlog.write(rows);
  const arrived = new Set<string>();
  const states: boolean[] = [];
  const failures: string[] = [];
  let removals = 0;
  const forwarder = new LedgerForwarder({
    backlog: {
      oldest: (limit) => backlog.oldest(limit),
      remove: (ids) => {
        if (++removals <= 3) throw new Error("database or disk is full");
        backlog.remove(ids);
      },
    },
    store: {
      append: async (batch) => {
        for (const id of idsOf(batch)) arrived.add(id);
      },
    },
    report: ({ reachable }) => states.push(reachable),
    reportBacklog: (reason) => failures.push(reason),
    reportRejected: () => undefined,
  });
  await until(() => removals >= 3);
  expect(forwarder.isReachable).toBe(true);
  await until(() => backlog.oldest(10).length === 0);
  await forwarder.close();
  expect([...arrived]).toEqual(idsOf(rows));
  expect(states).toEqual([]);
  expect(failures).toEqual(["database or disk is full"]);
  await backlog.close();
});

test("closing gives up after a bounded time if the shared ledger hangs", async () => {
  using folder = temporaryFolder();
  const backlog = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
  backlog.write([ledgerRow(1000)]);
  const forwarder = new LedgerForwarder({
    backlog,
    store: { append: () => new Promise(() => undefined) },
    report: () => undefined,
    reportBacklog: () => undefined,
    reportRejected: () => undefined,
    closeMs: 20,
  });
  await Bun.sleep(5);
  await forwarder.close();
  expect(backlog.oldest(10)).toHaveLength(1);
  await backlog.close();
});

test("during an outage, budgets read what waits to be forwarded without a query of the ledger", async () => {
  using folder = temporaryFolder();
  const at = Date.UTC(2026, 10, 15);
  const day = 86_400_000;
  const open = () => new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
  const earlier = open();
  const left = [0, day].map((later) => ledgerRow(at + later, { cost: 1, project: "p" }));
  earlier.write(left);
  await earlier.close();
  const store = open();
  const forwarding = openForwarding({
    store,
    shared: {
      ledger: {
        append: () => Promise.reject(new Error("unreachable")),
        rollUp: async () => undefined,
      },
      spend: { read: () => 100, add: () => undefined, refresh: async () => undefined },
      labelSpend: {
        read: () => undefined,
        want: () => undefined,
        add: () => undefined,
        load: async () => undefined,
      },
    },
    pendingRows: () => [ledgerRow(at, { cost: 0.5 })],
    log: createLog({
      level: "silent",
      format: "json",
      now: () => new Date(),
      write: () => undefined,
    }),
    emit: () => undefined,
    clock: () => 0,
  });
  // A row that exists is not counted again.
  store.write([...left, ledgerRow(at, { cost: 2, estimatedCost: 4 }), ledgerRow(at)]);
  using queries = spyOn(Database.prototype, "query");
  using statements = spyOn(Database.prototype, "prepare");
  const sums = ["2026-11-15", "2026-11-16", "2026-11", "2026-12", "total"].map((period) => [
    forwarding.spent({ scope: "key", id: "file:ci" }, period),
    forwarding.spent({ scope: "project", id: "p" }, period),
  ]);
  expect(sums).toEqual([
    [107.5, 101],
    [101, 101],
    [108.5, 102],
    [100, 100],
    [108.5, 102],
  ]);
  expect(forwarding.backlog()).toBe(5);
  expect(queries).not.toHaveBeenCalled();
  expect(statements).not.toHaveBeenCalled();
  await forwarding.close();
  await store.close();
});
