/** The export of the ledger: each row of PostgreSQL is in one file of the object store. */
import { afterAll, expect } from "bun:test";
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { exportLedger, pruneExported } from "../../server/ledger/export-ledger.ts";
import { PostgresDatabase } from "../../server/storage/postgres/database.ts";
import { createLedgerExports } from "../../server/storage/postgres/ledger-exports.ts";
import { PostgresLedgerStore } from "../../server/storage/postgres/ledger-store.ts";
import { parseBlobUrl } from "../../server/storage/s3/blob-url.ts";
import { ObjectStore } from "../../server/storage/s3/object-store.ts";
import { closeAfterEach } from "../clean-up.ts";
import { errorResponse, startFakeS3 } from "../fake-s3.ts";
import { startFake } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { sharedPostgres, testWithPostgres } from "../storage/postgres-server.ts";
import { until } from "../until.ts";
import { replicaStarter } from "./replica-fixture.ts";

const closing = closeAfterEach();
const fake = startFake();
afterAll(() => fake.close());
const startReplica = replicaStarter(fake.url);
const hourMs = 3_600_000;
const start = Date.UTC(2026, 10, 15, 6);
const now = (): number => start + 4 * hourMs;
const log = { info: () => undefined, warn: () => undefined };

/** Rows of three hours in an empty database. */
async function openLedger(replicas: number) {
  const url = await (await sharedPostgres()).createDatabase();
  const s3 = startFakeS3();
  closing(s3);
  const opened = Array.from({ length: replicas }, () => {
    const db = new PostgresDatabase({ url, now: () => 1 });
    closing(db);
    // Of its own for each, because it gets no requests for a moment after an error.
    const openObjects = () =>
      new ObjectStore({ location: parseBlobUrl(s3.url("x"), {}), clock: () => performance.now() });
    const exports = createLedgerExports(db);
    const run = ({ percent = 100, signal = new AbortController().signal } = {}) =>
      exportLedger({ exports, objects: openObjects(), percent, now, log, signal, fileRows: 40 });
    return { db, exports, run, openObjects };
  });
  const [first] = opened;
  if (!first) throw new Error("at least one replica is needed");
  const store = new PostgresLedgerStore(first.db);
  const append = async (ids: readonly string[], at: number): Promise<void> => {
    await store.append(ids.map((requestId) => ledgerRow(at, { requestId })));
    await store.rollUp();
  };
  const ids = Array.from({ length: 300 }, (_, at) => `req_${String(at).padStart(4, "0")}`);
  for (let hour = 0; hour < 3; hour++)
    await append(ids.slice(hour * 100, hour * 100 + 100), start + hour * hourMs + 1000);
  return { url, s3, ids, opened, first, store, append };
}

interface Manifest {
  readonly requests: number;
  readonly rows: number;
  readonly files: readonly { key: string; rows: number; bytes: number; sha256: string }[];
}

/** The request ids of all files that the manifests name. */
async function exportedIds(objects: ObjectStore): Promise<string[]> {
  const found: string[] = [];
  for (let hour = 6; hour < 9; hour++) {
    const text = await objects.readText(`ledger/2026-11-15/0${hour}.json`);
    if (text === undefined) continue;
    const manifest = JSON.parse(text) as Manifest;
    expect(manifest.files.reduce((sum, { rows }) => sum + rows, 0)).toBe(manifest.rows);
    for (const { key, rows, bytes, sha256 } of manifest.files) {
      const file = (await objects.readBytes(key)) ?? new Uint8Array();
      expect(createHash("sha256").update(file).digest("hex")).toBe(sha256);
      expect(file.length).toBe(bytes);
      const lines = gunzipSync(file).toString().trimEnd().split("\n");
      expect(lines).toHaveLength(rows);
      for (const line of lines) found.push((JSON.parse(line) as { request_id: string }).request_id);
    }
  }
  return found;
}

testWithPostgres(
  "each row is exported once by several replicas, a second run writes nothing, and a late row is exported with its hour",
  async () => {
    const { s3, ids, opened, first, append } = await openLedger(3);
    const objects = first.openObjects();
    await Promise.all(opened.map(({ run }) => run()));
    // A replica stops while others have claimed what is left.
    for (const { run } of opened) await run();
    expect(await exportedIds(objects)).toEqual(ids);
    expect(await first.exports.firstPending()).toBeUndefined();
    const before = s3.requests.filter((request) => !request.startsWith("GET")).length;
    for (const { run } of opened) await run();
    expect(s3.requests.filter((request) => !request.startsWith("GET"))).toHaveLength(before);
    await append(["req_0042-late"], start + 5000);
    expect(await first.exports.firstPending()).toBe(start);
    await opened[1]?.run();
    expect((await exportedIds(objects)).toSorted()).toEqual([...ids, "req_0042-late"].toSorted());
  },
);

testWithPostgres(
  "a sample of the rows is exported, the same by every replica, and sums count every request",
  async () => {
    const { ids, opened, first, store } = await openLedger(2);
    const objects = first.openObjects();
    await first.run({ percent: 30 });
    const sample = await exportedIds(objects);
    expect(sample.length).toBeGreaterThan(45);
    expect(sample.length).toBeLessThan(135);
    expect(ids).toEqual(expect.arrayContaining(sample));
    const manifest = (await objects.readText("ledger/2026-11-15/06.json")) ?? "";
    expect((JSON.parse(manifest) as Manifest).requests).toBe(100);
    await first.db.query("UPDATE vexel.ledger_exports SET requests = $1", [0]);
    await opened[1]?.run({ percent: 30 });
    expect(await exportedIds(objects)).toEqual(sample);
    // Retention deletes the rows that are not in the sample, too.
    await pruneExported({ ledger: store, exports: first.exports }).prune(start + 48 * hourMs, 1000);
    expect((await first.db.query("SELECT FROM vexel.ledger")).count).toBe(0);
    const { rows } = await first.db.query<{ requests: number }>(
      "SELECT sum(requests)::int AS requests FROM vexel.usage_by_hour",
    );
    expect(rows[0]?.requests).toBe(300);
  },
);

testWithPostgres(
  "an hour whose export failed has no manifest, is not deleted, and another replica exports it when the claim has expired",
  async () => {
    const { s3, ids, opened, first, store } = await openLedger(2);
    s3.intercept((request) =>
      request.url.includes("07-0002") ? errorResponse(500, "InternalError", "no") : undefined,
    );
    await expect(first.run()).rejects.toMatchObject({ kind: "storage_unavailable" });
    s3.intercept(undefined);
    expect(await exportedIds(first.openObjects())).toEqual(ids.slice(0, 100));
    expect(await first.exports.firstPending()).toBe(start + hourMs);
    const pruned = pruneExported({ ledger: store, exports: first.exports });
    const rowsLeft = async (): Promise<number> =>
      (await first.db.query("SELECT FROM vexel.ledger")).count;
    await pruned.prune(start + 48 * hourMs, 1000);
    expect(await rowsLeft()).toBe(300);
    const other = opened[1];
    await other?.run();
    // The hour of the claim is left out.
    expect(await first.exports.firstPending()).toBe(start + hourMs);
    await first.db.query(
      "UPDATE vexel.ledger_exports SET claimed_until = clock_timestamp() - $1 * interval '1 s' WHERE claimed_until IS NOT NULL",
      [1],
    );
    await other?.run();
    expect(await exportedIds(first.openObjects())).toEqual(ids);
    await pruned.prune(start + 48 * hourMs, 1000);
    expect(await rowsLeft()).toBe(0);
    // The files stay.
    expect(await first.exports.firstPending()).toBeUndefined();
  },
);

testWithPostgres("a gateway with VEXEL_LEDGER_EXPORT=on exports the hours before", async () => {
  const { url, s3, ids, first } = await openLedger(1);
  using folder = temporaryFolder();
  const env = { BLOB_URL: s3.url("x"), VEXEL_LEDGER_EXPORT: "on", VEXEL_LEDGER_DAYS: "0" };
  const gateway = await startReplica({ folder: folder.path, name: "a", databaseUrl: url, env });
  await until(() => gateway.output().split('"ledger-exported"').length === 4);
  expect(await exportedIds(first.openObjects())).toEqual(ids);
  gateway.kill("SIGTERM");
  expect(await gateway.exited).toBe(0);
});
