/**
 * A ledger that cannot be written: requests are refused or served, as the policy says, and the gateway recovers without
 * a restart.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Ledger, type LedgerRow } from "../../server/ledger/ledger.ts";
import { outboxRows } from "../harness.ts";
import {
  embeddingModel,
  expectError,
  imageModel,
  startGatewayWithFake,
} from "../http/gateway-fixture.ts";
import { until } from "../until.ts";
import {
  cleanUp,
  cleanUps,
  fill,
  fillQuietly,
  idsOf,
  startSmall,
  sufficientBytes,
} from "./unwritable-ledger-fixture.ts";

afterEach(cleanUp);

describe('a full ledger under the policy "refuse"', () => {
  test("refuses requests before any upstream request, is not ready, logs the reason, and recovers without losing a row", async () => {
    const { gateway, fake, embed, ready, freeSpace } = startSmall("refuse", sufficientBytes);
    expect((await ready()).status).toBe(200);
    const { refused: first, successful } = await fill(embed);
    // Each successful response has its row in the ledger or in the outbox: no request was billed and then refused.
    expect(fake.requests).toHaveLength(successful.length);
    expect(idsOf(gateway.rows())).toEqual(successful);
    const message = await expectError(first, "ledger_unavailable");
    expect(message).toContain("VEXEL_DATA");
    expect(first.headers.get("retry-after")).toBe("5");

    fake.clear();
    for (const refused of [await embed(), await embed()])
      await expectError(refused, "ledger_unavailable");
    expect(fake.requests).toHaveLength(0);
    const notReady = await ready();
    expect(notReady.status).toBe(503);
    expect(await notReady.json()).toMatchObject({ status: "not ready", ledger: "unwritable" });
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    const reported = gateway
      .log()
      .split("\n")
      .filter((line) => line.includes("ledger-unwritable"));
    expect(reported).toHaveLength(1);
    expect(JSON.parse(reported[0]!)).toMatchObject({
      level: "error",
      event: "ledger-unwritable",
      policy: "refuse",
      reason: expect.stringContaining("full"),
    });

    const pending = idsOf(outboxRows(gateway.folder));
    expect(pending.length).toBeGreaterThan(0);
    freeSpace();
    await until(() => gateway.log().includes("ledger-recovered"));
    expect((await ready()).status).toBe(200);
    const next = await embed();
    expect(next.status).toBe(200);
    expect(idsOf(gateway.rows())).toEqual([...pending, next.headers.get("x-request-id")!]);
  });

  test("lets a stream that has begun complete, with its row in the outbox", async () => {
    const { gateway, embed } = startSmall("refuse");
    // Fills the ledger without the gateway's knowledge.
    await fillQuietly(gateway.folder);
    const response = await gateway.post("/v1/images/generations", {
      model: imageModel,
      prompt: "an otter",
      stream: true,
    });
    expect(await response.text()).toContain(".completed");
    expect(idsOf(outboxRows(gateway.folder))).toEqual([response.headers.get("x-request-id")!]);
    await until(() => gateway.log().includes("ledger-unwritable"));
    await expectError(await embed(), "ledger_unavailable");
  });
});

describe('a full ledger under the policy "serve"', () => {
  test("serves requests, stays ready, and writes their rows when there is space", async () => {
    const { gateway, embed, ready, freeSpace } = startSmall("serve", sufficientBytes);
    const successful: string[] = [];
    const embedOnce = async () => {
      const response = await embed();
      expect(response.status).toBe(200);
      // A row in the outbox is as durable as one in the ledger.
      expect(response.headers.has("vexel-ledger")).toBe(false);
      expect(await response.json()).toMatchObject({ object: "list" });
      successful.push(response.headers.get("x-request-id")!);
    };
    while (!gateway.log().includes("ledger-unwritable")) await embedOnce();
    await embedOnce();
    const state = await ready();
    expect(state.status).toBe(200);
    expect(await state.json()).toMatchObject({ status: "ready", ledger: "unwritable" });
    expect(gateway.log()).toContain('"policy":"serve"');
    expect(idsOf(gateway.rows())).toEqual(successful);

    const pending = idsOf(outboxRows(gateway.folder));
    expect(pending).toContain(successful.at(-1)!);
    freeSpace();
    await until(() => gateway.log().includes("ledger-recovered"));
    expect(outboxRows(gateway.folder)).toEqual([]);
    expect(idsOf(gateway.rows())).toEqual(pending);
  });
});

describe("if the outbox cannot be written either", () => {
  const full = (): never => {
    throw new Error("disk full");
  };
  const row = { requestId: "a", status: 200, error: null, inputTokens: 5 } as LedgerRow;
  const emptyOutbox = {
    rows: [],
    append: () => undefined,
    markStored: () => undefined,
    release: () => undefined,
  };
  const storeIn = async (written: LedgerRow[], rows: readonly LedgerRow[]) => {
    written.push(...rows);
    return [];
  };
  const setUp = (policy: "refuse" | "serve") => {
    const written: LedgerRow[] = [];
    let broken = true;
    const reported: boolean[] = [];
    const ledger = new Ledger({
      store: { append: async (rows) => (broken ? full() : storeIn(written, rows)) },
      outbox: { ...emptyOutbox, append: () => (broken ? full() : undefined) },
      onError: policy,
      maxPending: 3,
      retryMs: 5,
      report: ({ writable }) => reported.push(writable),
    });
    const repair = () => {
      broken = false;
    };
    return { ledger, written, reported, repair };
  };

  test('requests are refused under the policy "refuse", and their rows say so when there is space', async () => {
    const { ledger, written, reported, repair } = setUp("refuse");
    await expect(ledger.settle(row)).rejects.toThrow("cannot write its ledger");
    expect(() => ledger.admit()).toThrow("cannot write its ledger");
    repair();
    await until(() => ledger.writable);
    expect(written).toEqual([{ ...row, status: 503, error: "ledger_unavailable" }]);
    expect(reported).toEqual([false, true]);
    ledger.admit();
  });

  test("the row of a request that had failed before records the error that its client got", async () => {
    const { ledger, written, repair } = setUp("refuse");
    const failed = { ...row, status: 502, error: "upstream_error" };
    await expect(ledger.settle(failed)).rejects.toThrow("cannot write its ledger");
    repair();
    await until(() => ledger.writable);
    expect(written).toEqual([failed]);
  });

  test('requests are served under the policy "serve" until the row buffer is full', async () => {
    const { ledger } = setUp("serve");
    for (let i = 0; i < 3; i++) {
      ledger.admit();
      expect(await ledger.settle(row)).toBe("unsettled");
    }
    expect(() => ledger.admit()).toThrow("cannot write its ledger");
    expect(await ledger.close()).toEqual({ lost: 3 });
  });

  test("the row is settled if the ledger file can be written", async () => {
    const written: LedgerRow[] = [];
    const ledger = new Ledger({
      store: { append: (rows) => storeIn(written, rows) },
      outbox: { ...emptyOutbox, append: full },
      onError: "refuse",
      report: () => undefined,
    });
    expect(await ledger.settle(row)).toBe("settled");
    expect(written).toEqual([row]);
    expect(await ledger.close()).toEqual({ lost: 0 });
  });
});

describe("a ledger that another process has locked", () => {
  async function lock(path: string) {
    const script = `
      const { Database } = require("bun:sqlite");
      const db = new Database(${JSON.stringify(path)});
      db.run("PRAGMA busy_timeout = 5000");
      db.run("BEGIN EXCLUSIVE");
      console.log("locked");
      process.stdin.once("data", () => { db.run("ROLLBACK"); process.exit(0); });`;
    const child = Bun.spawn([process.execPath, "-e", script], { stdin: "pipe", stdout: "pipe" });
    cleanUps.push(() => child.kill("SIGKILL"));
    await child.stdout.getReader().read();
    return async () => {
      child.stdin.write("done\n");
      child.stdin.flush();
      await child.exited;
    };
  }

  test("is unwritable, and recovers without losing a row when the lock is released", async () => {
    const setup = startGatewayWithFake();
    cleanUps.push(() => setup.close());
    const { gateway, fake } = setup;
    const embed = () => gateway.post("/v1/embeddings", { model: embeddingModel, input: "a" });
    const before = await embed();
    const unlock = await lock(join(gateway.folder, "ledger.db"));
    const { refused, successful } = await fill(embed);
    await expectError(refused, "ledger_unavailable");
    expect(fake.requests).toHaveLength(1 + successful.length);
    expect(gateway.log()).toContain("locked");
    await unlock();
    await until(() => gateway.log().includes("ledger-recovered"));
    const after = await embed();
    expect(idsOf(gateway.rows())).toEqual([
      before.headers.get("x-request-id")!,
      ...successful,
      after.headers.get("x-request-id")!,
    ]);
  });
});
