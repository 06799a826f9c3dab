/** Forwarding to the shared ledger: each row arrives once, and a row that is refused stops no other. */
import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BudgetOwner } from "../../contract/limits-and-budgets.ts";
import { LedgerForwarder } from "../../server/ledger/ledger-forwarder.ts";
import { openForwarding } from "../../server/ledger/open-forwarding.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { Log } from "../../server/lib/log.ts";
import { toDollars } from "../../server/lib/nano-dollars.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { RejectedRowsError, type SpentSum } from "../../server/storage/ports/ledger-store.ts";
import { nanosOf, spendKey, spendKeysOf } from "../../server/storage/sql/spend-tally.ts";
import { LedgerBacklog } from "../../server/storage/sqlite/ledger-backlog.ts";
import { temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import { ledgerRow } from "./ledger-fixture.ts";

const idsOf = (rows: readonly LedgerRow[]): string[] => rows.map(({ requestId }) => requestId);

test("a row that the shared ledger refuses is set aside, and the others arrive", async () => {
  using folder = temporaryFolder();
  const backlog = new LedgerBacklog({ folder: folder.path, maxBytes: 0 });
  const rows = Array.from({ length: 2500 }, (_, at) => ledgerRow(1000 + at));
  await backlog.append(rows);
  const refused = new Set([rows[7]!.requestId, rows[1031]!.requestId]);
  const arrived: string[] = [];
  const setAside: string[] = [];
  const forwarder = new LedgerForwarder({
    backlog,
    store: {
      append: async (batch) => {
        if (batch.some(({ requestId }) => refused.has(requestId)))
          throw new RejectedRowsError("refused");
        arrived.push(...idsOf(batch));
        return [];
      },
    },
    report: () => undefined,
    reportBacklog: () => undefined,
    setAside: ({ requestId }) => setAside.push(requestId),
  });
  await until(() => arrived.length === 2498);
  const late = ledgerRow(5000);
  await backlog.append([late]);
  await until(() => arrived.includes(late.requestId));
  await forwarder.close();
  expect(arrived).toEqual(idsOf([...rows, late]).filter((id) => !refused.has(id)));
  expect(setAside).toEqual([...refused]);
  expect([backlog.oldest(10), backlog.size]).toEqual([[], 0]);
  await backlog.close();
});

test("a row that cannot be set aside for a long time stops the others no longer than that", async () => {
  using folder = temporaryFolder();
  const backlog = new LedgerBacklog({ folder: folder.path, maxBytes: 0 });
  const [refused, other] = [ledgerRow(1000), ledgerRow(1001)];
  await backlog.append([refused, other]);
  let isDiskFull = true;
  const arrived: string[] = [];
  const forwarder = new LedgerForwarder({
    backlog,
    store: {
      append: async (batch) => {
        if (batch.some(({ requestId }) => requestId === refused.requestId))
          throw new RejectedRowsError("refused");
        arrived.push(...idsOf(batch));
        return [];
      },
    },
    report: () => undefined,
    reportBacklog: () => undefined,
    setAside: () => {
      if (isDiskFull) throw new Error("ENOSPC");
    },
    repeat: () => async () => undefined,
  });
  // More often than rows may be rejected before the problem is taken for one of the shared ledger.
  for (let run = 0; run < 1100; run++) await forwarder.run();
  expect(arrived).toEqual([]);
  isDiskFull = false;
  await forwarder.run();
  expect(arrived).toEqual([other.requestId]);
  expect(backlog.size).toBe(0);
  await forwarder.close();
  await backlog.close();
});

test("an outage is reported once, with its reason, and a batch whose acknowledgment was lost is sent again", async () => {
  using folder = temporaryFolder();
  const backlog = new LedgerBacklog({ folder: folder.path, maxBytes: 0 });
  await backlog.append(Array.from({ length: 5 }, (_, at) => ledgerRow(1000 + at, { cost: 1 })));
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
        return [];
      },
    },
    report: ({ reachable, reason }) => states.push([reachable, reason]),
    reportBacklog: () => undefined,
    setAside: () => undefined,
  });
  await until(() => states.length === 2);
  await forwarder.close();
  expect(states).toEqual([
    [false, "the disk is full"],
    [true, "rows are forwarded again"],
  ]);
  expect(shared.size).toBe(5);
  expect(backlog.oldest(10)).toEqual([]);
  await backlog.close();
});

test("a full disk of the data folder does not blame the database, is reported once, and each row arrives once", async () => {
  using folder = temporaryFolder();
  const backlog = new LedgerBacklog({ folder: folder.path, maxBytes: 0 });
  const rows = Array.from({ length: 5 }, (_, at) => ledgerRow(1000 + at));
  await backlog.append(rows);
  const arrived: string[] = [];
  const states: boolean[] = [];
  const failures: string[] = [];
  let removals = 0;
  const forwarder = new LedgerForwarder({
    backlog: {
      oldest: (limit) => backlog.oldest(limit),
      remove: (ids, sums) => {
        if (++removals <= 3) throw new Error("database or disk is full");
        backlog.remove(ids, sums);
      },
    },
    store: {
      append: async (batch) => {
        arrived.push(...idsOf(batch));
        return [];
      },
    },
    report: ({ reachable }) => states.push(reachable),
    reportBacklog: (reason) => failures.push(reason),
    setAside: () => undefined,
  });
  await until(() => removals >= 3);
  expect(forwarder.isReachable).toBe(true);
  await until(() => backlog.oldest(10).length === 0);
  await forwarder.close();
  expect(arrived).toEqual(idsOf(rows));
  expect(states).toEqual([]);
  expect(failures).toEqual(["database or disk is full"]);
  await backlog.close();
});

test("the rows of a backlog of the maximum size leave it, with the sums that are kept", async () => {
  using folder = temporaryFolder();
  const backlog = new LedgerBacklog({ folder: folder.path, maxBytes: 256 * 1024 });
  const stored: string[] = [];
  const fill = async (): Promise<void> => {
    for (;;) {
      const row = ledgerRow(1000 + stored.length);
      await backlog.append([row]);
      stored.push(row.requestId);
    }
  };
  expect(fill()).rejects.toThrow("full");
  const sums = Array.from({ length: 500 }, (_, at) => ({
    scope: "key" as const,
    id: `key-${at}`,
    period: "2026-11",
    nanos: at,
  }));
  backlog.remove(stored, sums);
  expect(backlog.size).toBe(0);
  expect(backlog.readSpent({ scope: "key", id: "key-7", period: "2026-11" })).toBe(7);
  await backlog.close();
});

test("closing gives up after a bounded time if the shared ledger hangs", async () => {
  using folder = temporaryFolder();
  const backlog = new LedgerBacklog({ folder: folder.path, maxBytes: 0 });
  await backlog.append([ledgerRow(1000)]);
  const forwarder = new LedgerForwarder({
    backlog,
    store: { append: () => new Promise(() => undefined) },
    report: () => undefined,
    reportBacklog: () => undefined,
    setAside: () => undefined,
    closeMs: 20,
  });
  await Bun.sleep(5);
  await forwarder.close();
  expect(backlog.oldest(10)).toHaveLength(1);
  await backlog.close();
});

/** A ledger whose shared database takes rows when `isUp`, and counts each row once. */
function openTestForwarding(folder: string, database: TestDatabase) {
  const backlog = new LedgerBacklog({ folder, maxBytes: 0 });
  const logged: object[] = [];
  const log = (message: string, fields: object) => void logged.push({ message, ...fields });
  const forwarding = openForwarding({
    folder,
    backlog,
    shared: {
      ledger: { append: (rows) => database.append(rows), rollUp: async () => undefined },
      spend: {
        get isRead() {
          return database.isRead;
        },
        read: (key) => database.sums.get(spendKey(key)) ?? 0,
        raise: () => undefined,
        refresh: async () => [],
        readNamed: async () => [],
      },
    },
    log: { warn: log, error: log } as unknown as Log,
    emit: () => undefined,
    clock: () => performance.now(),
  });
  const totals = (owner: BudgetOwner, ...periods: string[]) =>
    periods.map((period) => toDollars(forwarding.accounts.of({ ...owner, period }).used));
  return { backlog, forwarding, totals, logged };
}

class TestDatabase {
  isUp = true;
  isRead = true;
  refused: string | undefined;
  readonly ids = new Set<string>();
  readonly sums = new Map<string, number>();

  async append(rows: readonly LedgerRow[]): Promise<readonly SpentSum[]> {
    if (!this.isUp) throw new Error("unreachable");
    if (rows.some(({ requestId }) => requestId === this.refused))
      throw new RejectedRowsError("refused");
    for (const row of rows) {
      if (this.ids.has(row.requestId)) continue;
      this.ids.add(row.requestId);
      for (const key of spendKeysOf(row))
        this.sums.set(spendKey(key), (this.sums.get(spendKey(key)) ?? 0) + nanosOf(row));
    }
    return rows
      .flatMap((row) => spendKeysOf(row))
      .map((key) => ({ ...key, nanos: this.sums.get(spendKey(key)) ?? 0 }));
  }
}

const at = Date.UTC(2026, 10, 15);
const day = 86_400_000;
const ci = { scope: "key", id: "file:ci" } as const;

test("during an outage, budgets read what waits to be forwarded without a query, also what an earlier process has left", async () => {
  using folder = temporaryFolder();
  const database = new TestDatabase();
  database.isUp = false;
  const earlier = new LedgerBacklog({ folder: folder.path, maxBytes: 0 });
  await earlier.append([0, day].map((later) => ledgerRow(at + later, { cost: 1, project: "p" })));
  await earlier.close();
  const { backlog, forwarding, totals } = openTestForwarding(folder.path, database);
  const row = ledgerRow(at, { cost: 2, estimatedCost: 4 });
  for (const each of [row, row]) forwarding.accounts.end(each);
  await backlog.append([row, row]);
  using queries = spyOn(Database.prototype, "query");
  using statements = spyOn(Database.prototype, "prepare");
  const periods = ["2026-11-15", "2026-11-16", "2026-11", "2026-12", "total"];
  expect(totals(ci, ...periods)).toEqual([7, 1, 8, 0, 8]);
  // After a problem with the data folder, the ledger appends the same row again.
  await backlog.append([row]);
  expect(totals(ci, ...periods)).toEqual([7, 1, 8, 0, 8]);
  expect(totals({ scope: "project", id: "p" }, ...periods)).toEqual([1, 1, 2, 0, 2]);
  expect(backlog.size).toBe(3);
  expect(queries).not.toHaveBeenCalled();
  expect(statements).not.toHaveBeenCalled();
  await forwarding.close();
  await backlog.close();
});

test("what is spent stays the same while rows are forwarded, also twice", async () => {
  using folder = temporaryFolder();
  const database = new TestDatabase();
  const { backlog, forwarding, totals } = openTestForwarding(folder.path, database);
  const rows = Array.from({ length: 3000 }, () => ledgerRow(at, { cost: 0.001 }));
  for (const row of rows) forwarding.accounts.end(row);
  await backlog.append(rows);
  // The acknowledgment of these was lost.
  await database.append(rows.slice(0, 500));
  expect(totals(ci, "total")).toEqual([3.5]);
  await until(() => backlog.size === 0);
  expect(totals(ci, "total", "2026-11")).toEqual([3, 3]);
  expect(forwarding.accounts.of({ ...ci, period: "total" }).ended).toBe(0);
  await forwarding.close();
  await backlog.close();
});

test("a row that the database refuses is in a file, the log names it, and it counts no more", async () => {
  using folder = temporaryFolder();
  const database = new TestDatabase();
  const { backlog, forwarding, totals, logged } = openTestForwarding(folder.path, database);
  const [row, refused] = [ledgerRow(at, { cost: 1 }), ledgerRow(at, { cost: 2 })];
  database.refused = refused.requestId;
  for (const each of [row, refused]) forwarding.accounts.end(each);
  await backlog.append([row, refused]);
  await until(() => backlog.size === 0);
  const path = join(folder.path, "ledger-rejected.jsonl");
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ reason: "refused", row: refused });
  expect(logged).toEqual([
    { message: "ledger-row-rejected", requestId: refused.requestId, reason: "refused", path },
  ]);
  expect(totals(ci, "total")).toEqual([1]);
  await forwarding.close();
  await backlog.close();
});

test("a process that starts while the database is away goes on with the sums that it last returned", async () => {
  using folder = temporaryFolder();
  const database = new TestDatabase();
  const first = openTestForwarding(folder.path, database);
  const row = ledgerRow(at, { cost: 2 });
  first.forwarding.accounts.end(row);
  await first.backlog.append([row]);
  await until(() => first.backlog.size === 0);
  await first.forwarding.close();
  await first.backlog.close();
  database.isUp = false;
  database.isRead = false;
  const next = openTestForwarding(folder.path, database);
  next.forwarding.accounts.end(ledgerRow(at, { cost: 1 }));
  expect(next.totals(ci, "total", "2026-11-15")).toEqual([3, 3]);
  await next.forwarding.close();
  await next.backlog.close();
});
