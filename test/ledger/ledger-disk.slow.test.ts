/**
 * An unwritable ledger: requests are refused or served, as the policy says, and the gateway recovers without a restart.
 */

import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ledger, type LedgerRow } from "../../server/ledger/ledger.ts";
import { JournalRecovery } from "../../server/storage/files/journal-recovery.ts";
import { journaledRows } from "../../server/storage/files/ledger-journal.ts";
import { LedgerFile } from "../../server/storage/sqlite/ledger-store.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, readLedger, root, startProcess, temporaryFolder } from "../harness.ts";
import {
  bearer,
  embeddingModel,
  expectError,
  imageModel,
  png,
  startGatewayWithFake,
} from "../http/gateway-fixture.ts";
import { mayMount, mount, unmount } from "../storage/small-disk.ts";
import { until } from "../until.ts";
import { ledgerRow } from "./ledger-fixture.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Holds about forty rows. */
const ledgerBytes = 28 * 1024;
/** Room for two of the largest write groups: the pending rows must fit once there is room. */
const roomyBytes = 96 * 1024;

/** A gateway whose ledger reaches its maximum size after a few rows. */
function startSmall(policy: "refuse" | "serve", bytes = ledgerBytes) {
  const setup = startGatewayWithFake({
    settings: { VEXEL_LEDGER_MAX_BYTES: String(bytes), VEXEL_ON_LEDGER_ERROR: policy },
  });
  cleanUps.push(() => setup.close());
  const { gateway } = setup;
  return {
    ...setup,
    embed: () =>
      gateway.post("/v1/embeddings", { model: embeddingModel, input: "a", dimensions: 2 }),
    ready: () => fetch(`${gateway.url}/readyz`),
    makeRoom: () => {
      const other = new Database(join(gateway.folder, "ledger.db"));
      other.run("PRAGMA busy_timeout = 5000");
      other.run("DELETE FROM ledger");
      other.close();
    },
  };
}

/** Sends requests until one is refused; returns it, and the IDs of the successful ones. */
async function fill(embed: () => Promise<Response>) {
  const successful: string[] = [];
  for (let i = 0; i < 2000; i++) {
    const response = await embed();
    if (response.status !== 200) return { refused: response, successful };
    successful.push(response.headers.get("x-request-id")!);
    await response.text();
  }
  throw new Error("the ledger was never full");
}

const idsOf = (rows: readonly LedgerRow[]): string[] => rows.map(({ requestId }) => requestId);

describe('a full ledger under the policy "refuse"', () => {
  test("refuses requests before any upstream request, is not ready, logs the reason, and recovers without losing a row", async () => {
    const { gateway, fake, embed, ready, makeRoom } = startSmall("refuse", roomyBytes);
    expect((await ready()).status).toBe(200);
    const { refused: first, successful } = await fill(embed);
    // Each successful response has its row in the ledger or in the journal: no request was billed and then refused.
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

    const journaled = idsOf(journaledRows(gateway.folder));
    expect(journaled.length).toBeGreaterThan(0);
    makeRoom();
    await until(() => gateway.log().includes("ledger-recovered"));
    expect((await ready()).status).toBe(200);
    const next = await embed();
    expect(next.status).toBe(200);
    expect(idsOf(gateway.rows())).toEqual([...journaled, next.headers.get("x-request-id")!]);
  });

  test("lets a stream that has begun complete, with its row in the journal", async () => {
    const { gateway, embed } = startSmall("refuse");
    // Fills the ledger without the gateway's knowledge.
    await fillQuietly(gateway.folder);
    const response = await gateway.post("/v1/images/generations", {
      model: imageModel,
      prompt: "an otter",
      stream: true,
    });
    expect(await response.text()).toContain(".completed");
    expect(idsOf(journaledRows(gateway.folder))).toEqual([response.headers.get("x-request-id")!]);
    await until(() => gateway.log().includes("ledger-unwritable"));
    await expectError(await embed(), "ledger_unavailable");
  });
});

/** Inserts rows through a second connection until no more fit. */
async function fillQuietly(folder: string): Promise<void> {
  const other = new Database(join(folder, "ledger.db"));
  other.run("PRAGMA busy_timeout = 5000");
  other.run(`PRAGMA max_page_count = ${ledgerBytes / 4096}`);
  const insert = other.prepare(
    "INSERT INTO ledger VALUES (?, 0, 'x', 'x', '', '', '', 0, 0, '', 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', 0)",
  );
  expect(() => {
    for (let i = 0; ; i++) insert.run(`filler-${i}`);
  }).toThrow("full");
  other.close();
}

describe('a full ledger under the policy "serve"', () => {
  test("serves requests, stays ready, and writes their rows when there is room", async () => {
    const { gateway, embed, ready, makeRoom } = startSmall("serve", roomyBytes);
    const successful: string[] = [];
    const embedOnce = async () => {
      const response = await embed();
      expect(response.status).toBe(200);
      // A row in the journal is as durable as one in the ledger.
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

    const journaled = idsOf(journaledRows(gateway.folder));
    expect(journaled).toContain(successful.at(-1)!);
    makeRoom();
    await until(() => gateway.log().includes("ledger-recovered"));
    expect(journaledRows(gateway.folder)).toEqual([]);
    expect(idsOf(gateway.rows())).toEqual(journaled);
  });
});

describe("if the journal cannot be written either", () => {
  const full = (): never => {
    throw new Error("disk full");
  };
  const row = { requestId: "a", status: 200, inputTokens: 5 } as LedgerRow;
  const setUp = (policy: "refuse" | "serve") => {
    const written: LedgerRow[] = [];
    let broken = true;
    const reported: boolean[] = [];
    const ledger = new Ledger({
      file: { write: (rows) => (broken ? full() : written.push(...rows)) },
      journal: { append: () => (broken ? full() : undefined), clear: () => undefined },
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

  test('requests are refused under the policy "refuse", and their rows say so when there is room', async () => {
    const { ledger, written, reported, repair } = setUp("refuse");
    await expect(ledger.settle(row)).rejects.toThrow("cannot write its ledger");
    expect(() => ledger.admit()).toThrow("cannot write its ledger");
    repair();
    await until(() => ledger.writable);
    expect(written).toEqual([{ ...row, status: 503, error: "ledger_unavailable" }]);
    expect(reported).toEqual([false, true]);
    ledger.admit();
  });

  test('requests are served under the policy "serve" until the row buffer is full', async () => {
    const { ledger } = setUp("serve");
    for (let i = 0; i < 3; i++) {
      ledger.admit();
      expect(await ledger.settle(row)).toBe("unsettled");
    }
    expect(() => ledger.admit()).toThrow("cannot write its ledger");
    expect(ledger.close()).toEqual({ lost: 3 });
  });

  test("but the file can, the row is settled", async () => {
    const written: LedgerRow[] = [];
    const ledger = new Ledger({
      file: { write: (rows) => written.push(...rows) },
      journal: { append: full, clear: () => undefined },
      onError: "refuse",
      report: () => undefined,
    });
    expect(await ledger.settle(row)).toBe("settled");
    expect(written).toEqual([row]);
    expect(ledger.close()).toEqual({ lost: 0 });
  });
});

test("rows that were not in the ledger at shutdown are written at the next start", async () => {
  using folder = temporaryFolder();
  const data = join(folder.path, "data");
  const fake = startFake();
  cleanUps.push(() => fake.close());
  const start = () =>
    startProcess({
      folder: folder.path,
      yaml: configFor(fake.url),
      env: { VEXEL_ON_LEDGER_ERROR: "serve", VEXEL_LEDGER_MAX_BYTES: String(ledgerBytes) },
    });
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
  expect(idsOf(journaledRows(data))).toEqual([id]);

  const other = new Database(join(data, "ledger.db"));
  other.run("DELETE FROM ledger");
  other.close();
  await stop(await start());
  expect(journaledRows(data)).toEqual([]);
  expect(idsOf(readLedger(data))).toEqual([id]);
});

describe("with journaled rows of the last process and a disk that is still full at the start", () => {
  /** A folder with a full ledger, and a journal with the row of one successful request. */
  async function leaveJournal(folder: string) {
    const data = join(folder, "data");
    const fake = startFake();
    cleanUps.push(() => fake.close());
    const start = async (policy: "refuse" | "serve") => {
      const gateway = await startProcess({
        folder,
        yaml: configFor(fake.url),
        env: { VEXEL_ON_LEDGER_ERROR: policy, VEXEL_LEDGER_MAX_BYTES: String(ledgerBytes) },
      });
      cleanUps.push(async () => {
        gateway.kill("SIGKILL");
        await gateway.exited;
      });
      return gateway;
    };
    const first = await start("serve");
    await fillQuietly(data);
    const response = await first.post("/v1/embeddings", { model: embeddingModel, input: "a" });
    first.kill("SIGKILL");
    await first.exited;
    const makeRoom = () => {
      const other = new Database(join(data, "ledger.db"));
      other.run("PRAGMA busy_timeout = 5000");
      other.run("DELETE FROM ledger");
      other.close();
    };
    return { data, start, makeRoom, id: response.headers.get("x-request-id")! };
  }
  const inLedger = (data: string): string[] => {
    const file = new LedgerFile({ folder: data, maxBytes: 0 });
    const rows = file.recent(10);
    file.close();
    return idsOf(rows);
  };

  test('the gateway is not ready under "refuse", and when there is room it writes the rows without a restart', async () => {
    using folder = temporaryFolder();
    const { data, start, makeRoom, id } = await leaveJournal(folder.path);
    const gateway = await start("refuse");
    const embed = () => gateway.post("/v1/embeddings", { model: embeddingModel, input: "b" });
    const state = await fetch(`${gateway.url}/readyz`);
    expect(state.status).toBe(503);
    expect(await state.json()).toMatchObject({ status: "not ready", ledger: "unwritable" });
    await expectError(await embed(), "ledger_unavailable");
    expect(gateway.output().split("ledger-unwritable")).toHaveLength(2);

    makeRoom();
    await until(() => gateway.output().includes("ledger-recovered"));
    expect(inLedger(data)).toEqual([id]);
    expect(journaledRows(data)).toEqual([]);
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
    expect((await embed()).status).toBe(200);
  });

  test('the gateway serves under "serve", and writes the rows of both processes when there is room', async () => {
    using folder = temporaryFolder();
    const { data, start, makeRoom, id } = await leaveJournal(folder.path);
    const gateway = await start("serve");
    expect(await (await fetch(`${gateway.url}/readyz`)).json()).toMatchObject({
      status: "ready",
      ledger: "unwritable",
    });
    const embedOnce = await gateway.post("/v1/embeddings", { model: embeddingModel, input: "b" });
    expect(embedOnce.status).toBe(200);
    makeRoom();
    await until(() => gateway.output().includes("ledger-recovered"));
    await until(() => inLedger(data).length === 2);
    expect(inLedger(data)).toEqual([embedOnce.headers.get("x-request-id")!, id]);
    expect(journaledRows(data)).toEqual([]);
  });

  test("rows that no ledger can store do not block the others", () => {
    using folder = temporaryFolder();
    const good = { ...completeRow, requestId: "good" };
    const lines = [{ ...good, requestId: "bad", keyId: null }, null, [[1, 2]], good];
    const path = join(folder.path, "ledger-999999999-a.journal");
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const file = new LedgerFile({ folder: folder.path, maxBytes: 0 });
    const recovery = new JournalRecovery(folder.path, file);
    expect(recovery.unreadable).toBe(3);
    recovery.recover();
    expect(idsOf(file.recent(10))).toEqual(["good"]);
    expect(recovery.rows).toEqual([]);
    expect(existsSync(path)).toBe(false);
    file.close();
  });

  test("a partly recovered journal reports only its remaining rows", () => {
    using folder = temporaryFolder();
    const lines = Array.from({ length: 1200 }, (_, at) => ({
      ...completeRow,
      requestId: `row-${at}`,
    }));
    const path = join(folder.path, "ledger-999999999-a.journal");
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const written: string[] = [];
    let room = 600;
    const recovery = new JournalRecovery(folder.path, {
      write: (rows) => {
        if (rows.length > room) throw new Error("full");
        room -= rows.length;
        written.push(...idsOf(rows));
      },
    });
    expect(() => recovery.recover()).toThrow("full");
    expect([...written, ...idsOf(recovery.rows)]).toEqual(idsOf(lines));
    expect(existsSync(path)).toBe(true);
    room = 5000;
    recovery.recover();
    expect(written).toEqual(idsOf(lines));
    expect(existsSync(path)).toBe(false);
  });
});

const completeRow = ledgerRow(1, { cost: 0.5 });

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

/** The output and exit code of a start that must fail. */
async function failedStart(data: string, folder: string) {
  const child = Bun.spawn([process.execPath, join(root, "cli", "main.ts"), "serve"], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", PORT: "0", VEXEL_DATA: data },
    stdout: "pipe",
    stderr: "pipe",
  });
  const late = setTimeout(() => child.kill("SIGKILL"), 15_000);
  const [code, out, err] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  clearTimeout(late);
  return { code, out, err };
}

describe("an unusable data folder ends the start with exit code 1 and one clear line", () => {
  const expectStartError = ({
    code,
    out,
    err,
  }: Awaited<ReturnType<typeof failedStart>>): string => {
    expect({ code, out }, err).toEqual({ code: 1, out: "" });
    expect(err.trim().split("\n")).toHaveLength(1);
    expect(err).not.toContain("    at ");
    return err;
  };

  test.each([
    ["that is a file", (folder: string) => join(folder, "file")],
    ["below a file", (folder: string) => join(folder, "file", "data")],
    ["where no folder can be created", () => "/proc/nope"],
  ])("%s", async (_, pathIn) => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "file"), "not a folder");
    const data = pathIn(folder.path);
    const err = expectStartError(await failedStart(data, folder.path));
    expect(err).toStartWith(`The folder ${data} (VEXEL_DATA) cannot be used: `);
  });

  test.each([
    ["ledger.db", 10],
    ["ledger.db", 60_000],
    ["vexel.db", 60_000],
  ])("with a %s of %d bytes of garbage, which is not modified", async (name, size) => {
    using folder = temporaryFolder();
    const garbage = crypto.getRandomValues(new Uint8Array(size));
    const path = join(folder.path, name);
    writeFileSync(path, garbage);
    const err = expectStartError(await failedStart(folder.path, folder.path));
    expect(err).toContain(path);
    expect(err).toContain("damaged or not a database");
    expect(err).toContain("move it away");
    expect(readFileSync(path).equals(Buffer.from(garbage))).toBe(true);
  });

  test("with a ledger of another schema, which is not modified", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "ledger.db");
    const other = new Database(path, { create: true });
    other.run("CREATE TABLE ledger (something TEXT)");
    other.run("INSERT INTO ledger VALUES ('precious')");
    other.close();
    const err = expectStartError(await failedStart(folder.path, folder.path));
    expect(err).toContain(path);
    const again = new Database(path);
    expect(again.query("SELECT * FROM ledger").all()).toEqual([{ something: "precious" }]);
    again.close();
  });

  test("but a ledger of the first version is migrated and gets the new columns", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "ledger.db");
    new LedgerFile({ folder: folder.path, maxBytes: 0 }).close();
    const old = new Database(path);
    for (const column of [
      "cached_inputs",
      "upstream_tokens",
      "cost",
      "steps",
      "project",
      "estimated_cost",
    ])
      old.run(`ALTER TABLE ledger DROP COLUMN ${column}`);
    old.run(
      "INSERT INTO ledger VALUES ('precious', 0, 'x', 'x', '', '', '', 0, 0, '', 0, 0, 0, 0, 0, 0)",
    );
    old.close();
    expect(readLedger(folder.path)).toEqual([
      expect.objectContaining({ requestId: "precious", cachedInputs: null, upstreamTokens: null }),
    ]);
  });

  test("but a ledger with the earlier column names is migrated and keeps every value", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "ledger.db");
    new LedgerFile({ folder: folder.path, maxBytes: 0 }).close();
    const old = new Database(path);
    for (const [now, before] of [
      ["error", "fault"],
      ["cached_inputs", "known_inputs"],
      ["estimated_cost", "estimate"],
    ])
      old.run(`ALTER TABLE ledger RENAME COLUMN ${now} TO ${before}`);
    old.run(
      `INSERT INTO ledger (request_id, at, endpoint, key_id, attempts, status, latency_ms, bytes_in, bytes_out,
         fault, known_inputs, estimate)
       VALUES ('precious', 0, 'embeddings', 'k', 1, 504, 1, 2, 3, 'upstream_timeout', 7, 0.25)`,
    );
    old.close();
    expect(readLedger(folder.path)).toEqual([
      expect.objectContaining({
        requestId: "precious",
        error: "upstream_timeout",
        cachedInputs: 7,
        estimatedCost: 0.25,
      }),
    ]);
  });

  test("with a ledger that is a folder", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "ledger.db"));
    const err = expectStartError(await failedStart(folder.path, folder.path));
    expect(err).toContain(join(folder.path, "ledger.db"));
  });
});

/** These tests mount a tmpfs, which can really be full. */
if (mayMount()) {
  describe("on a disk of two megabytes", () => {
    const smallDisk = () => {
      const folder = temporaryFolder();
      const disk = join(folder.path, "data");
      mkdirSync(disk);
      expect(mount("-t", "tmpfs", "-o", "size=2m", "tmpfs", disk)).toBe(true);
      cleanUps.push(() => {
        unmount(disk);
        folder[Symbol.dispose]();
      });
      return { folder: folder.path, disk };
    };

    test("that is full, requests and uploads are refused, and served again when there is room", async () => {
      const { folder, disk } = smallDisk();
      const fake = startFake();
      cleanUps.push(() => fake.close());
      const gateway = await startProcess({ folder, yaml: configFor(fake.url) });
      cleanUps.push(async () => {
        gateway.kill("SIGKILL");
        await gateway.exited;
      });
      const embed = () => gateway.post("/v1/embeddings", { model: embeddingModel, input: "a" });
      const edit = () => {
        const form = new FormData();
        form.append("model", imageModel);
        form.append("prompt", "a hat");
        const large = new Uint8Array(1_500_000);
        large.set(png);
        form.append("image", new Blob([large]), "a.png");
        return fetch(`${gateway.url}/v1/images/edits`, {
          method: "POST",
          headers: bearer,
          body: form,
        });
      };
      expect((await embed()).status).toBe(200);
      expect((await edit()).status).toBe(200);

      // Room for rows, but not for an upload.
      writeFileSync(join(disk, "ballast"), new Uint8Array(900_000));
      await expectError(await edit(), "storage_unavailable");
      expect((await embed()).status).toBe(200);

      const fillUp = () =>
        Bun.spawnSync(["dd", "if=/dev/zero", `of=${join(disk, "more")}`, "bs=4k"], {
          stderr: "ignore",
        });
      let refused: Response | undefined;
      for (let i = 0; i < 50 && refused === undefined; i++) {
        fillUp();
        const response = await embed();
        if (response.status !== 200) refused = response;
      }
      await expectError(refused!, "ledger_unavailable");
      expect((await fetch(`${gateway.url}/readyz`)).status).toBe(503);
      await until(() => gateway.output().includes("ledger-unwritable"));

      for (const name of ["ballast", "more"]) rmSync(join(disk, name));
      await until(() => gateway.output().includes("ledger-recovered"));
      expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
      expect((await embed()).status).toBe(200);
      expect((await edit()).status).toBe(200);
      // If it was refused after the upstream request, the row has its usage.
      const rows = readLedger(disk);
      const id = refused!.headers.get("x-request-id");
      const row = rows.find(({ requestId }) => requestId === id);
      if (row) expect(row).toMatchObject({ status: 503, inputTokens: 1 });
      expect(rows.filter(({ endpoint }) => endpoint === "embeddings")).toHaveLength(
        fake.requests.filter(({ path }) => path.endsWith("/embeddings")).length,
      );
    });

    test("that is read-only, the start ends with exit code 1 and a clear line", async () => {
      const { folder, disk } = smallDisk();
      expect(mount("-o", "remount,ro", disk)).toBe(true);
      const { code, err } = await failedStart(disk, folder);
      expect(code).toBe(1);
      expect(err).toContain(disk);
      expect(err).not.toContain("    at ");
    });

    test("that becomes read-only between two starts, the second start ends with exit code 1", async () => {
      const { folder, disk } = smallDisk();
      const gateway = await startProcess({ folder });
      gateway.kill("SIGTERM");
      expect(await gateway.exited).toBe(0);
      expect(mount("-o", "remount,ro", disk)).toBe(true);
      const { code, err } = await failedStart(disk, folder);
      expect(code).toBe(1);
      expect(err).toContain(disk);
    });
  });
}
