/** Lists of ledger rows in SQLite: rare rows are found without reading all others, and pages are bounded. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import type { LedgerListQuery, LedgerPage } from "../../server/storage/ports/ledger-queries.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { listRows, rowsPerClockRead } from "../../server/storage/sqlite/list-rows.ts";
import { temporaryFolder } from "../harness.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { rowsOf } from "../ledger/stored-rows.ts";

const noon = Date.UTC(2026, 10, 15, 12);
const idsOf = ({ entries }: LedgerPage) => entries.map(({ requestId }) => requestId);

/** A ledger with these rows. The clock advances by one each time it is read. */
async function openList(rows: readonly LedgerRow[]) {
  const folder = temporaryFolder();
  const store = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
  for (let at = 0; at < rows.length; at += 500) store.write(rows.slice(at, at + 500));
  const db = new Database(store.path, { readonly: true, strict: true });
  let ticks = 0;
  return {
    store,
    list: (query: Partial<LedgerListQuery>, pageMs = Number.POSITIVE_INFINITY) => {
      ticks = 0;
      return listRows(db, { limit: 100, ...query }, { clock: () => ticks++, pageMs });
    },
    /** About how many rows the latest list has read. */
    rowsRead: () => (ticks - 1) * rowsPerClockRead,
    [Symbol.asyncDispose]: async () => {
      db.close();
      await store.close();
      folder[Symbol.dispose]();
    },
  };
}

/** 10,000 rows, one in each second: 3,600 rows in an hour. The last rows are the latest. */
const manyRows = (change: (at: number) => Partial<LedgerRow>): LedgerRow[] =>
  Array.from({ length: 10_000 }, (_, at) =>
    ledgerRow(noon + at * 1000, {
      keyId: `key_${at % 50}`,
      model: "m",
      cost: 0.001,
      latencyMs: 20,
      ...change(at),
    }),
  );

test("a rare key, project, model, target, error or status is found without reading the rows of other hours", async () => {
  const rare: Partial<LedgerRow> = {
    keyId: "rare",
    project: "rare",
    model: "rare",
    upstream: "rare",
    targetModel: "rare",
    error: "rare",
    status: 451,
  };
  const rows = manyRows((at) => (at === 3000 ? rare : {}));
  await using opened = await openList(rows);
  const filters: Partial<LedgerListQuery>[] = [
    { keyId: "rare" },
    { project: "rare" },
    { projects: ["none", "rare"] },
    { model: "rare" },
    { upstream: "rare" },
    { targetModel: "rare" },
    { error: "rare" },
    { failed: true },
    { status: { min: 451, max: 451 } },
    { status: { min: 400, max: 499 } },
  ];
  for (const filter of filters) {
    expect(idsOf(opened.list(filter)), JSON.stringify(filter)).toEqual([rows[3000]!.requestId]);
    expect(opened.rowsRead(), JSON.stringify(filter)).toBeLessThanOrEqual(3600);
  }
  expect(idsOf(opened.list({ keyId: "nobody" }))).toEqual([]);
  expect(opened.rowsRead()).toBe(0);
});

test("failures are found without reading successful rows", async () => {
  const rows = manyRows((at) => (at % 2000 === 1 ? { error: "upstream_error", status: 502 } : {}));
  await using opened = await openList(rows);
  const expected = rows.filter(({ error }) => error !== null).toReversed();
  for (const filter of [
    { failed: true },
    { error: "upstream_error" },
    { status: { min: 500, max: 599 } },
    { failed: true, model: "m" },
  ]) {
    const found = idsOf(opened.list(filter));
    expect(found, JSON.stringify(filter)).toEqual(expected.map(({ requestId }) => requestId));
    expect(opened.rowsRead(), JSON.stringify(filter)).toBe(0);
  }
});

test("a row with an error status and no error kind is listed by its status", async () => {
  const row = ledgerRow(noon, { status: 499 });
  await using opened = await openList([row]);
  expect(idsOf(opened.list({ status: { min: 400, max: 499 } }))).toEqual([row.requestId]);
  expect(idsOf(opened.list({ failed: true }))).toEqual([]);
});

test("a key and a model that never occur together are not searched for, however frequent both are", async () => {
  const rows = manyRows((at) => ({ model: at % 50 === 7 ? "only of key 7" : "m" }));
  await using opened = await openList(rows);
  expect(idsOf(opened.list({ keyId: "key_3", model: "only of key 7" }))).toEqual([]);
  expect(opened.rowsRead()).toBe(0);
});

test("a page that reaches its time limit says how far it searched, and the next pages list every other row once", async () => {
  const rows = manyRows((at) => ({ latencyMs: at % 2000 === 0 ? 500 : at % 2 }));
  await using opened = await openList(rows);
  const filter = { latencyMs: { min: 0.5, max: 600 }, model: "m", keyId: "key_0" };
  const expected = rows.filter(({ latencyMs, keyId }) => latencyMs > 0.5 && keyId === "key_0");
  const found: string[] = [];
  let [pages, before] = [0, Number.POSITIVE_INFINITY];
  for (let cursor: string | undefined; ; ) {
    const page = opened.list({ ...filter, cursor }, 1);
    expect(opened.rowsRead()).toBeLessThanOrEqual(rowsPerClockRead);
    found.push(...idsOf(page));
    pages++;
    if (page.next === undefined) break;
    expect(page.scannedUntil).toBeLessThan(before);
    for (const { at } of page.entries) expect(at).toBeGreaterThanOrEqual(page.scannedUntil!);
    before = page.scannedUntil!;
    cursor = page.next;
  }
  expect(found).toEqual(expected.map(({ requestId }) => requestId).toReversed());
  expect(pages).toBeGreaterThan(5);
});

test("a row that is written long after its request arrived is found by every filter", async () => {
  const rows = manyRows(() => ({}));
  await using opened = await openList(rows);
  const late = ledgerRow(rows[5000]!.at, {
    keyId: "late",
    error: "late",
    latencyMs: 700_000,
    cost: 9,
    status: 599,
  });
  opened.store.write([late]);
  for (const filter of [
    { keyId: "late" },
    { error: "late" },
    { latencyMs: { min: 600_000 } },
    { cost: { min: 8 } },
    { status: { min: 599 } },
  ]) {
    expect(idsOf(opened.list(filter)), JSON.stringify(filter)).toEqual([late.requestId]);
  }
});

test("the rows of one millisecond are listed once each, however small and early the pages end", async () => {
  const rows = manyRows(() => ({})).map((row, at) => ({ ...row, at: noon + Math.floor(at / 700) }));
  await using opened = await openList(rows);
  const expected = rows
    .toSorted((a, b) => b.at - a.at || (a.requestId < b.requestId ? 1 : -1))
    .map(({ requestId }) => requestId);
  for (const pageMs of [1, Number.POSITIVE_INFINITY]) {
    const found: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = opened.list({ cursor, limit: 180 }, pageMs);
      found.push(...idsOf(page));
      if (page.next === undefined) break;
      cursor = page.next;
    }
    expect(found).toEqual(expected);
  }
});

test("rows that were pruned are not searched for", async () => {
  const rows = manyRows(() => ({}));
  await using opened = await openList(rows);
  expect(rowsOf(opened.store)).toHaveLength(10_000);
  expect(await opened.store.prune(rows.at(-1)!.at + 1, 100_000)).toBe(false);
  expect(rowsOf(opened.store)).toEqual([]);
  expect(idsOf(opened.list({ keyId: "key_1" }))).toEqual([]);
  expect(opened.rowsRead()).toBe(0);
});
