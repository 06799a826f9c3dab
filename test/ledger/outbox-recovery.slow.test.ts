/** Rows in the outbox of an earlier process are written to the ledger at the next start, or when there is space. */
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encode, rowsRecord } from "../../server/storage/files/outbox.ts";
import { OutboxRecovery } from "../../server/storage/files/outbox-recovery.ts";
import { valuesOf } from "../../server/storage/ledger-row-values.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { outboxRows, readLedger, temporaryFolder } from "../harness.ts";
import { embeddingModel, expectError } from "../http/gateway-fixture.ts";
import { until } from "../until.ts";
import { ledgerRow } from "./ledger-fixture.ts";
import { rowsOf, spentIn } from "./stored-rows.ts";
import {
  cleanUp,
  emptyLedger,
  fillQuietly,
  idsOf,
  startSmallProcess,
} from "./unwritable-ledger-fixture.ts";

afterEach(cleanUp);

const completeRow = ledgerRow(1, { cost: 0.5 });

test("rows that were not in the ledger at shutdown are written at the next start", async () => {
  using folder = temporaryFolder();
  const data = join(folder.path, "data");
  const start = () => startSmallProcess(folder.path, { VEXEL_ON_LEDGER_ERROR: "serve" });
  const stop = async (gateway: Awaited<ReturnType<typeof start>>) => {
    gateway.kill("SIGTERM");
    expect(await gateway.exited).toBe(0);
  };
  const first = await start();
  await fillQuietly(data);
  const response = await first.post("/v1/embeddings", { model: embeddingModel, input: "a" });
  expect(response.status).toBe(200);
  await stop(first);
  const id = response.headers.get("x-request-id")!;
  expect(idsOf(outboxRows(data))).toEqual([id]);

  emptyLedger(data);
  await stop(await start());
  expect(outboxRows(data)).toEqual([]);
  expect(idsOf(readLedger(data))).toEqual([id]);
});

describe("with rows of the last process in its outbox and a disk that is still full at the start", () => {
  /** A folder with a full ledger, and an outbox with the row of one successful request. */
  async function leaveOutbox(folder: string) {
    const data = join(folder, "data");
    const start = (policy: "refuse" | "serve") =>
      startSmallProcess(folder, { VEXEL_ON_LEDGER_ERROR: policy });
    const first = await start("serve");
    await fillQuietly(data);
    const response = await first.post("/v1/embeddings", { model: embeddingModel, input: "a" });
    await first.close();
    const freeSpace = () => emptyLedger(data);
    return { data, start, freeSpace, id: response.headers.get("x-request-id")! };
  }
  const inLedger = (data: string): string[] => {
    const file = new SqliteLedgerStore({ folder: data, maxBytes: 0 });
    const rows = rowsOf(file);
    file.close();
    return idsOf(rows);
  };

  test('the gateway is not ready under "refuse", and when there is space it writes the rows without a restart', async () => {
    using folder = temporaryFolder();
    const { data, start, freeSpace, id } = await leaveOutbox(folder.path);
    const gateway = await start("refuse");
    const embed = () => gateway.post("/v1/embeddings", { model: embeddingModel, input: "b" });
    const state = await fetch(`${gateway.url}/readyz`);
    expect(state.status).toBe(503);
    expect(await state.json()).toMatchObject({ status: "not ready", ledger: "unwritable" });
    await expectError(await embed(), "ledger_unavailable");
    expect(gateway.output().split("ledger-unwritable")).toHaveLength(2);

    freeSpace();
    await until(() => gateway.output().includes("ledger-recovered"));
    expect(inLedger(data)).toEqual([id]);
    expect(outboxRows(data)).toEqual([]);
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
    expect((await embed()).status).toBe(200);
  });

  test('the gateway serves under "serve", and writes the rows of both processes when there is space', async () => {
    using folder = temporaryFolder();
    const { data, start, freeSpace, id } = await leaveOutbox(folder.path);
    const gateway = await start("serve");
    expect(await (await fetch(`${gateway.url}/readyz`)).json()).toMatchObject({
      status: "ready",
      ledger: "unwritable",
    });
    const embedOnce = await gateway.post("/v1/embeddings", { model: embeddingModel, input: "b" });
    expect(embedOnce.status).toBe(200);
    freeSpace();
    await until(() => gateway.output().includes("ledger-recovered"));
    await until(() => inLedger(data).length === 2);
    expect(inLedger(data)).toEqual([id, embedOnce.headers.get("x-request-id")!]);
    expect(outboxRows(data)).toEqual([]);
  });

  test("rows and requests with a missing value, or with a value of another type, do not block the others", async () => {
    using folder = temporaryFolder();
    const good = { ...completeRow, requestId: "good" };
    const changes: Partial<Record<keyof LedgerRow, unknown>>[] = [
      { keyId: null },
      { at: "1" },
      { latencyMs: true },
      { model: {} },
      { steps: ["a", "b"] },
      { cost: "0.5" },
      { inputTokens: [1] },
      { timeline: 7 },
    ];
    const bad = changes.map((change) =>
      valuesOf({ ...good, requestId: Object.keys(change)[0], ...change } as LedgerRow),
    );
    const path = join(folder.path, "outbox-999999999-a.log");
    const rows = [...bad, [1, 2], null as never, valuesOf(good)];
    const inFlight = [["in-flight", "1", "embeddings", "key_1", null, null, {}]];
    writeFileSync(path, `${encode({ rows })}${encode({ inFlight })}torn\n`);
    const file = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
    const recovery = new OutboxRecovery(folder.path, file);
    const damaged = `${path}.damaged`;
    expect(recovery.damaged).toEqual([{ path: damaged, records: 3 }]);
    await recovery.recover();
    expect(idsOf(rowsOf(file))).toEqual(["good"]);
    expect(spentIn(file, { scope: "key", id: good.keyId }, "total")).toBe(0.5);
    expect(recovery.rows).toEqual([]);
    expect([path, damaged].map((each) => existsSync(each))).toEqual([false, true]);
    file.close();
  });

  test("a partly recovered outbox reports only its remaining rows", async () => {
    using folder = temporaryFolder();
    const lines = Array.from({ length: 1200 }, (_, at) => ({
      ...completeRow,
      requestId: `row-${at}`,
    }));
    const path = join(folder.path, "outbox-999999999-a.log");
    writeFileSync(path, rowsRecord(lines));
    const written: string[] = [];
    let space = 600;
    const recovery = new OutboxRecovery(folder.path, {
      append: async (rows) => {
        if (rows.length > space) throw new Error("full");
        space -= rows.length;
        written.push(...idsOf(rows));
      },
    });
    await expect(recovery.recover()).rejects.toThrow("full");
    expect([...written, ...idsOf(recovery.rows)]).toEqual(idsOf(lines));
    expect(existsSync(path)).toBe(true);
    space = 5000;
    await recovery.recover();
    expect(written).toEqual(idsOf(lines));
    expect(existsSync(path)).toBe(false);
  });
});
