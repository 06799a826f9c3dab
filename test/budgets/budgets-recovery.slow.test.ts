/** Reservations of a killed gateway are recovered and charged once. */

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LedgerJournal, orphanedJournals } from "../../server/storage/files/ledger-journal.ts";
import {
  ReservationLog,
  type ReservedRequest,
  recoverReservations,
} from "../../server/storage/files/reservation-log.ts";
import { LedgerFile } from "../../server/storage/sqlite/ledger-store.ts";
import { startFake } from "../fake-upstream.ts";
import { readLedger, startProcess, temporaryFolder } from "../harness.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { until } from "../until.ts";
import { noon } from "./budgets-fixture.ts";

const key = "sk-test-killed-000000000";

/** A gateway process with one model, dall-e-3 at four cents an image, that can be killed and started again. */
function arrangeProcess(keys: string) {
  const folder = temporaryFolder();
  const fake = startFake();
  const yaml = `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }
models:
  - { id: dall-e-3, kind: image, targets: [{ upstream: fake, model: dall-e-3 }] }
${keys}`;
  const start = () => startProcess({ folder: folder.path, yaml });
  type Gateway = Awaited<ReturnType<typeof start>>;
  return {
    fake,
    data: join(folder.path, "data"),
    start,
    generate: async (gateway: Gateway): Promise<number> => {
      const body = { model: "dall-e-3", prompt: "an otter" };
      const headers = { authorization: `Bearer ${key}` };
      const response = await gateway.post("/v1/images/generations", body, headers);
      await response.text();
      return response.status;
    },
    end: async (gateway: Gateway, signal: NodeJS.Signals): Promise<void> => {
      gateway.kill(signal);
      await gateway.exited;
    },
    [Symbol.dispose]: () => {
      fake.close();
      folder[Symbol.dispose]();
    },
  };
}

test("image requests that were in flight when the gateway was killed are charged", async () => {
  using arranged = arrangeProcess(`
keys:
  - { name: killed, key: ${key}, project: web }
projects:
  - { name: web, budget: { total: 0.12 } }
`);
  const { fake, data, start, generate, end } = arranged;
  const first = await start();
  expect(await generate(first)).toBe(200);
  fake.script({ hang: "headers" });
  const cut = generate(first).catch(() => "cut off");
  await until(() => fake.requests.filter(({ method }) => method === "POST").length === 2);
  await end(first, "SIGKILL");
  expect(await cut).toBe("cut off");
  fake.clear();

  const second = await start();
  expect(second.output()).toContain('"reservations-recovered","requests":1}');
  expect(await generate(second)).toBe(200);
  expect(await generate(second)).toBe(429);
  await end(second, "SIGTERM");
  const recoveredRow = readLedger(data).filter(({ estimatedCost: estimate }) => estimate !== null);
  expect(recoveredRow).toMatchObject([
    {
      project: "web",
      model: "dall-e-3",
      status: 500,
      error: "internal",
      cost: null,
      estimatedCost: 0.04,
    },
  ]);

  const third = await start();
  expect(third.output()).not.toContain('"reservations-recovered"');
  await end(third, "SIGTERM");
  expect(readdirSync(data).filter((file) => file.endsWith(".journal"))).toEqual([]);
});

test("after a kill and a restart, a gateway knows what was spent", async () => {
  using arranged = arrangeProcess(`keys: [{ name: ten, key: ${key}, budget: { total: 0.4 } }]`);
  const statuses: number[] = [];
  for (let start = 0; start < 3; start++) {
    const gateway = await arranged.start();
    for (let request = 0; request < 4; request++) statuses.push(await arranged.generate(gateway));
    await arranged.end(gateway, "SIGKILL");
  }
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429, 429]);
  await until(() => readLedger(arranged.data).length === 12);
});

describe("the reservation log", () => {
  const openLog = (folder: string, maxBytes?: number) =>
    new ReservationLog({
      folder,
      newId: () => Bun.randomUUIDv7(),
      onError: (error) => {
        throw error;
      },
      ...(maxBytes && { maxBytes }),
    });
  const row = () => ({ ...ledgerRow(noon), estimate: 0.04 });
  const recoveredRows = (folder: string) => orphanedJournals(folder).flatMap(({ rows }) => rows);
  /** The row that the next process recovers. */
  const recoveredRow = (row: ReservedRequest) =>
    ledgerRow(noon, {
      requestId: row.requestId,
      ...{ estimatedCost: 0.04, status: 500, error: "internal", attempts: 0, latencyMs: 0 },
      steps: "the gateway was killed before the request finished",
    });

  test("has the requests that began and did not end", () => {
    using folder = temporaryFolder();
    const journal = openLog(folder.path);
    const rows = [row(), row(), row()];
    for (const each of rows) journal.begin(each);
    journal.end(rows[1]!.requestId);
    // The process is alive.
    expect(recoverReservations(folder.path).requests).toBe(0);
    journal.close();
    expect(recoverReservations(folder.path)).toEqual({ requests: 2, unreadable: 0 });
    expect(recoveredRows(folder.path)).toEqual([rows[0]!, rows[2]!].map(recoveredRow));
    expect(recoverReservations(folder.path).requests).toBe(0);
  });

  test("is recovered even if another process has the PID of the killed one", () => {
    using folder = temporaryFolder();
    const journal = openLog(folder.path);
    journal.begin(row());
    const [name] = readdirSync(folder.path);
    // The parent's PID is in use for certain.
    const copy = join(folder.path, `reservations-${process.ppid}-a.journal`);
    writeFileSync(copy, readFileSync(join(folder.path, name!)));
    expect(recoverReservations(folder.path).requests).toBe(1);
    expect(recoveredRows(folder.path)).toHaveLength(1);
    journal.close();
  });

  test("writes requests that begin in the same turn of the event loop as one group, without those that ended", async () => {
    using folder = temporaryFolder();
    const journal = openLog(folder.path);
    const sizes: number[] = [];
    const recordSize = () => {
      const [file] = readdirSync(folder.path);
      sizes.push(Bun.file(join(folder.path, file!)).size);
    };
    const rows = [row(), row(), row(), row()];
    for (const each of rows) {
      journal.begin(each, true);
      recordSize();
    }
    // The first one is written immediately: it may be the only one.
    expect(sizes[0]).toBeGreaterThan(0);
    expect(new Set(sizes).size).toBe(1);
    journal.end(rows[0]!.requestId);
    await new Promise((done) => setImmediate(done));
    recordSize();
    expect(sizes.at(-1)).toBeGreaterThan(4 * 0.9 * sizes[0]!);
    // As after kill -9: the file was not closed.
    const [name] = readdirSync(folder.path);
    const copy = join(folder.path, "reservations-999999999-a.journal");
    writeFileSync(copy, readFileSync(join(folder.path, name!)));
    expect(recoverReservations(folder.path).requests).toBe(3);
    expect(recoveredRows(folder.path)).toEqual(rows.slice(1).map(recoveredRow));
    journal.close();
  });

  test("does not exist before the first reservation and after the last one", () => {
    using folder = temporaryFolder();
    const journal = openLog(folder.path);
    expect(readdirSync(folder.path)).toEqual([]);
    const only = row();
    journal.begin(only);
    journal.end(only.requestId);
    journal.close();
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test("stays bounded, however many requests begin and end during a long one", () => {
    using folder = temporaryFolder();
    const journal = openLog(folder.path, 10_000);
    const lasting = row();
    journal.begin(lasting);
    for (let request = 0; request < 500; request++) {
      const short = row();
      journal.begin(short);
      journal.end(short.requestId);
      const files = readdirSync(folder.path);
      expect(files).toHaveLength(1);
      expect(Bun.file(join(folder.path, files[0]!)).size).toBeLessThan(11_000);
    }
    journal.close();
    recoverReservations(folder.path);
    expect(recoveredRows(folder.path)).toEqual([recoveredRow(lasting)]);
  });

  test("charges no request whose row is in the journal or in the ledger", () => {
    using folder = temporaryFolder();
    const journal = openLog(folder.path);
    const [journaled, filed] = [row(), row()];
    for (const each of [journaled, filed]) journal.begin(each);
    journal.close();
    const rows = new LedgerJournal(folder.path, "a");
    rows.append([{ ...journaled, cost: 0.01, estimatedCost: null }]);
    rows.close();
    const file = new LedgerFile({ folder: folder.path, maxBytes: 0 });
    file.write([{ ...filed, cost: 0.02, estimatedCost: null }]);
    recoverReservations(folder.path);
    file.write(recoveredRows(folder.path));
    expect(file.sumSpent({ scope: "key", id: "file:ci" }, "total")).toBeCloseTo(0.03, 12);
    file.close();
  });

  test("is recovered up to the truncated line after a power failure", () => {
    using folder = temporaryFolder();
    const whole = row();
    const journal = openLog(folder.path);
    journal.begin(whole);
    journal.begin(row());
    const [name] = readdirSync(folder.path);
    const lines = readFileSync(join(folder.path, name!), "utf8").slice(0, -40);
    journal.close();
    rmSync(join(folder.path, name!));
    writeFileSync(join(folder.path, "reservations-999999999-a.journal"), lines);
    expect(recoverReservations(folder.path)).toEqual({ requests: 1, unreadable: 1 });
    expect(recoveredRows(folder.path)).toEqual([recoveredRow(whole)]);
  });
});
