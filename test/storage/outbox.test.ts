/**
 * The outbox file: records survive torn and damaged neighbors, failed writes and compactions, and the file is bounded.
 */
import { expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import {
  OutboxFile,
  type OutboxFileOptions,
  rowsRecord,
} from "../../server/storage/files/outbox.ts";
import { OutboxRecovery, readOutbox } from "../../server/storage/files/outbox-recovery.ts";
import { temporaryFolder } from "../harness.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";

const open = (folder: string, more: Partial<OutboxFileOptions> = {}) =>
  new OutboxFile({ folder, id: Bun.randomUUIDv7(), onError: () => undefined, ...more });
const row = (more = {}) => ledgerRow(1000, more);
const reservation = (requestId: string) => ({ ...row({ requestId }), estimate: 1 });
const idsOf = (rows: readonly { readonly requestId: string }[]) =>
  rows.map(({ requestId }) => requestId);

test("after a cut at any byte, the rows of every complete record are read", () => {
  using folder = temporaryFolder();
  const outbox = open(folder.path);
  const [first, second, third] = [[row(), row()], [row({ model: "大" })], [row()]];
  const ends = [first, second, third].map((rows) => {
    outbox.append(rows);
    return Bun.file(outbox.path).size;
  });
  const bytes = readFileSync(outbox.path);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const { rows, damagedRecords, isTorn } = readOutbox(bytes.subarray(0, cut));
    const complete = [first, second, third].filter((_, at) => ends[at]! <= cut).flat();
    expect(idsOf(rows)).toEqual(idsOf(complete));
    expect(isTorn).toBe(cut > 0 && !ends.includes(cut));
    expect(damagedRecords).toBe(0);
  }
  outbox.close();
});

test("a damaged byte loses one record, and the records after it are read", () => {
  using folder = temporaryFolder();
  const outbox = open(folder.path);
  const rows = [row(), row(), row()];
  for (const each of rows) outbox.append([each]);
  const bytes = readFileSync(outbox.path);
  for (let at = 0; at < bytes.length; at += 3) {
    const damaged = Buffer.from(bytes);
    damaged[at] = damaged[at]! ^ 0x15;
    const { rows: read, damagedRecords, isTorn } = readOutbox(damaged);
    expect(damagedRecords).toBeGreaterThan(0);
    expect(isTorn).toBe(false);
    // A damaged line feed can cost the record after it as well.
    expect(read.length).toBeGreaterThanOrEqual(1);
    for (const each of read) expect(rows).toContainEqual(each);
  }
  outbox.close();
});

test("a mark whose row was damaged drops no other row", () => {
  using folder = temporaryFolder();
  const outbox = open(folder.path);
  const rows = [row(), row()];
  outbox.append([rows[0]!]);
  const length = Bun.file(outbox.path).size;
  outbox.append([rows[1]!]);
  outbox.markStored(1);
  const bytes = readFileSync(outbox.path);
  bytes.fill(0x20, 0, length - 1);
  expect(idsOf(readOutbox(bytes).rows)).toEqual([rows[1]!.requestId]);
  outbox.close();
});

test("a compaction keeps unstored rows and requests in flight, and reports the new file", () => {
  using folder = temporaryFolder();
  let opened = 0;
  const outbox = open(folder.path, {
    compactBytes: 5000,
    opened: { watch: () => void opened++, problem: undefined },
  });
  outbox.begin(reservation("open"));
  outbox.flush();
  const rows = Array.from({ length: 100 }, () => row());
  for (const each of rows) {
    outbox.append([each]);
    if (outbox.rows.length > 3) outbox.markStored(1);
  }
  expect(opened).toBeGreaterThan(2);
  expect(readdirSync(folder.path)).toHaveLength(1);
  expect(Bun.file(outbox.path).size).toBeLessThan(10_000);
  expect(readOutbox(readFileSync(outbox.path))).toMatchObject({
    rows: rows.slice(-3),
    inFlight: [{ requestId: "open" }],
    damagedRecords: 0,
    isTorn: false,
  });
  outbox.close();
});

test("an interrupted compaction leaves the complete file, and its unfinished copy is removed", async () => {
  using folder = temporaryFolder();
  const outbox = open(folder.path);
  const only = row();
  outbox.append([only]);
  outbox.close();
  writeFileSync(`${outbox.path}.new`, "00000");
  const stored: string[] = [];
  const recovery = new OutboxRecovery(folder.path, {
    append: async (rows) => void stored.push(...idsOf(rows)),
  });
  await recovery.recover();
  expect(stored).toEqual([only.requestId]);
  expect(readdirSync(folder.path)).toEqual([]);
});

test("an outbox whose folder is gone closes without an error", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "data");
  mkdirSync(path);
  const outbox = open(path);
  outbox.append([row()]);
  rmSync(path, { recursive: true });
  outbox.close();
});

const damagedRecord = rowsRecord([row({ requestId: "damaged" })]).replace("damaged", "damagee");
/** Its length reaches beyond the end of the file. */
const longRecord = "ffffffff 00000000 {}\n";
const cutOff = rowsRecord([row({ requestId: "cut" })]).slice(0, -40);

test("a file with damaged records is kept beside the data, and is not read again", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "outbox-999999999-a.log");
  const records = [
    rowsRecord([row({ requestId: "first" })]),
    damagedRecord,
    longRecord,
    rowsRecord([row({ requestId: "last" })]),
  ];
  const text = records.join("") + cutOff;
  writeFileSync(path, text);
  const stored: string[] = [];
  const store = {
    append: async (rows: readonly { readonly requestId: string }[]) =>
      void stored.push(...idsOf(rows)),
  };
  const recovery = new OutboxRecovery(folder.path, store);
  expect(recovery).toMatchObject({
    damaged: [{ path: `${path}.damaged`, records: 2 }],
    torn: 1,
  });
  expect(existsSync(path)).toBe(true);
  await recovery.recover();
  expect(recovery.isDone).toBe(true);
  expect(stored).toEqual(["first", "last"]);
  expect(readdirSync(folder.path)).toEqual(["outbox-999999999-a.log.damaged"]);
  expect(readFileSync(`${path}.damaged`, "utf8")).toBe(text);
  const next = new OutboxRecovery(folder.path, store);
  expect(next).toMatchObject({ isDone: true, rows: [], damaged: [], torn: 0 });
});

test("a file whose last record is cut off is not damaged, and is removed", async () => {
  using folder = temporaryFolder();
  writeFileSync(
    join(folder.path, "outbox-999999999-a.log"),
    rowsRecord([row({ requestId: "first" })]) + cutOff,
  );
  const recovery = new OutboxRecovery(folder.path, { append: async () => undefined });
  expect(recovery).toMatchObject({ damaged: [], torn: 1 });
  await recovery.recover();
  expect(readdirSync(folder.path)).toEqual([]);
});

test("at most three damaged files are kept, the latest", async () => {
  using folder = temporaryFolder();
  for (let at = 0; at < 5; at++) {
    const path = join(folder.path, `outbox-${9 - at}-a.log`);
    writeFileSync(path, damagedRecord);
    utimesSync(path, 1000 + at, 1000 + at);
    await new OutboxRecovery(folder.path, { append: async () => undefined }).recover();
  }
  expect(readdirSync(folder.path).toSorted()).toEqual(
    [5, 6, 7].map((id) => `outbox-${id}-a.log.damaged`),
  );
});
