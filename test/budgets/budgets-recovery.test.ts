/** Reservations of a killed gateway are recovered and charged once. */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LedgerFile } from "../../server/storage/ledger-file.ts";
import { LedgerJournal, orphanedJournals } from "../../server/storage/ledger-journal.ts";
import {
  ReservationLog,
  type ReservedRequest,
  recoverReservations,
} from "../../server/storage/reservation-log.ts";
import { startFake } from "../fake-upstream.ts";
import { readLedger, startProcess, temporaryFolder } from "../harness.ts";
import { until } from "../http/gateway-fixture.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { noon } from "./budgets-fixture.ts";

const key = "sk-test-killed-000000000";

test("pictures that were being drawn when the gateway was killed are in the account", async () => {
  using folder = temporaryFolder();
  const fake = startFake();
  const yaml = `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }
models:
  - { id: dall-e-3, kind: image, targets: [{ upstream: fake, model: dall-e-3 }] }
keys:
  - { name: killed, key: ${key}, project: web }
projects:
  - { name: web, budget: { total: 0.12 } }
`;
  const start = () => startProcess({ folder: folder.path, yaml });
  type Gateway = Awaited<ReturnType<typeof start>>;
  const draw = async (gateway: Gateway): Promise<number> => {
    const body = { model: "dall-e-3", prompt: "an otter" };
    const headers = { authorization: `Bearer ${key}` };
    const response = await gateway.post("/v1/images/generations", body, headers);
    await response.text();
    return response.status;
  };
  const end = async (gateway: Gateway, signal: NodeJS.Signals): Promise<void> => {
    gateway.kill(signal);
    await gateway.exited;
  };
  try {
    const first = await start();
    expect(await draw(first)).toBe(200);
    fake.script({ hang: "headers" });
    const cut = draw(first).catch(() => "cut off");
    await until(() => fake.requests.filter(({ method }) => method === "POST").length === 2);
    await end(first, "SIGKILL");
    expect(await cut).toBe("cut off");
    fake.clear();

    const second = await start();
    expect(second.output()).toContain('"reservations-recovered","requests":1}');
    expect(await draw(second)).toBe(200);
    expect(await draw(second)).toBe(429);
    await end(second, "SIGTERM");
    const data = join(folder.path, "data");
    const presumed = readLedger(data).filter(({ estimatedCost: estimate }) => estimate !== null);
    expect(presumed).toMatchObject([
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
  } finally {
    fake.close();
  }
  // Three processes start, on a machine that may have other things to do.
}, 60_000);

describe("the journal of what is held", () => {
  const held = (folder: string, maxBytes?: number) =>
    new ReservationLog({
      folder,
      newId: () => Bun.randomUUIDv7(),
      onError: (error) => {
        throw error;
      },
      ...(maxBytes && { maxBytes }),
    });
  const row = () => ({ ...ledgerRow(noon), estimate: 0.04 });
  const taken = (folder: string) => orphanedJournals(folder).flatMap(({ rows }) => rows);
  /** What the next process makes of it. */
  const presumed = (row: ReservedRequest) =>
    ledgerRow(noon, {
      requestId: row.requestId,
      ...{ estimatedCost: 0.04, status: 500, error: "internal", attempts: 0, latencyMs: 0 },
      steps: "the gateway was killed before the request finished",
    });

  test("has what has begun and not ended, and nothing else", () => {
    using folder = temporaryFolder();
    const journal = held(folder.path);
    const rows = [row(), row(), row()];
    for (const each of rows) journal.begin(each);
    journal.end(rows[1]!.requestId);
    // Of a process that lives.
    expect(recoverReservations(folder.path).requests).toBe(0);
    journal.close();
    expect(recoverReservations(folder.path)).toEqual({ requests: 2, unreadable: 0 });
    expect(taken(folder.path)).toEqual([rows[0]!, rows[2]!].map(presumed));
    expect(recoverReservations(folder.path).requests).toBe(0);
  });

  test("is taken up also where another process has the number of the one that was killed", () => {
    using folder = temporaryFolder();
    const journal = held(folder.path);
    journal.begin(row());
    const [name] = readdirSync(folder.path);
    // Ours is a number that is surely taken.
    const copy = join(folder.path, `reservations-${process.ppid}-a.journal`);
    writeFileSync(copy, readFileSync(join(folder.path, name!)));
    expect(recoverReservations(folder.path).requests).toBe(1);
    expect(taken(folder.path)).toHaveLength(1);
    journal.close();
  });

  test("has those that begin in the same turn of the event loop after it, in one write, and ends with them", async () => {
    using folder = temporaryFolder();
    const journal = held(folder.path);
    const sizes: number[] = [];
    const look = () => {
      const [file] = readdirSync(folder.path);
      sizes.push(Bun.file(join(folder.path, file!)).size);
    };
    const rows = [row(), row(), row(), row()];
    for (const each of rows) {
      journal.begin(each, true);
      look();
    }
    // The first does not wait: it may be alone.
    expect(sizes[0]).toBeGreaterThan(0);
    expect(new Set(sizes).size).toBe(1);
    journal.end(rows[0]!.requestId);
    await new Promise((done) => setImmediate(done));
    look();
    expect(sizes.at(-1)).toBeGreaterThan(4 * 0.9 * sizes[0]!);
    // As after kill -9: nobody has closed it.
    const [name] = readdirSync(folder.path);
    const copy = join(folder.path, "reservations-999999999-a.journal");
    writeFileSync(copy, readFileSync(join(folder.path, name!)));
    expect(recoverReservations(folder.path).requests).toBe(3);
    expect(taken(folder.path)).toEqual(rows.slice(1).map(presumed));
    journal.close();
  });

  test("is gone when all is over, and not there where nothing is held", () => {
    using folder = temporaryFolder();
    const journal = held(folder.path);
    expect(readdirSync(folder.path)).toEqual([]);
    const only = row();
    journal.begin(only);
    journal.end(only.requestId);
    journal.close();
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test("does not grow, however many calls come and go while one lasts", () => {
    using folder = temporaryFolder();
    const journal = held(folder.path, 10_000);
    const lasting = row();
    journal.begin(lasting);
    for (let call = 0; call < 500; call++) {
      const short = row();
      journal.begin(short);
      journal.end(short.requestId);
      const files = readdirSync(folder.path);
      expect(files).toHaveLength(1);
      expect(Bun.file(join(folder.path, files[0]!)).size).toBeLessThan(11_000);
    }
    journal.close();
    recoverReservations(folder.path);
    expect(taken(folder.path)).toEqual([presumed(lasting)]);
  });

  test("counts no call whose own row was written, in the journal or in the ledger", () => {
    using folder = temporaryFolder();
    const journal = held(folder.path);
    const [journaled, filed] = [row(), row()];
    for (const each of [journaled, filed]) journal.begin(each);
    journal.close();
    const rows = new LedgerJournal(folder.path, "a");
    rows.append([{ ...journaled, cost: 0.01, estimatedCost: null }]);
    rows.close();
    const file = new LedgerFile({ folder: folder.path, maxBytes: 0 });
    file.write([{ ...filed, cost: 0.02, estimatedCost: null }]);
    recoverReservations(folder.path);
    file.write(taken(folder.path));
    expect(file.sumSpent({ scope: "key", id: "file:ci" }, "total")).toBeCloseTo(0.03, 12);
    file.close();
  });

  test("is read as far as it can be after a power cut", () => {
    using folder = temporaryFolder();
    const whole = row();
    const journal = held(folder.path);
    journal.begin(whole);
    journal.begin(row());
    const [name] = readdirSync(folder.path);
    const lines = readFileSync(join(folder.path, name!), "utf8").slice(0, -40);
    journal.close();
    rmSync(join(folder.path, name!));
    writeFileSync(join(folder.path, "reservations-999999999-a.journal"), lines);
    expect(recoverReservations(folder.path)).toEqual({ requests: 1, unreadable: 1 });
    expect(taken(folder.path)).toEqual([presumed(whole)]);
  });
});
