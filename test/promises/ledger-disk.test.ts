/** When the ledger cannot be written: refuse or serve, as the operator chose; and all is well again without a restart. */
import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ledger, type LedgerRow } from "../../server/usage/ledger.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, readLedger, root, startProcess, temporaryFolder } from "../harness.ts";
import { bearer, embedder, expectFault, painter, png, startEdge, until } from "./edge-fixture.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A gateway whose ledger holds some fifty rows and is then as full as a disk. */
function startSmall(policy: "refuse" | "serve") {
  const edge = startEdge({
    settings: { VEXEL_LEDGER_MAX_BYTES: String(28 * 1024), VEXEL_LEDGER_FAULT: policy },
  });
  cleanUps.push(() => edge.close());
  const { gateway } = edge;
  return {
    ...edge,
    call: () => gateway.post("/v1/embeddings", { model: embedder, input: "a", dimensions: 2 }),
    ready: () => fetch(`${gateway.url}/readyz`),
    makeRoom: () => {
      const other = new Database(join(gateway.folder, "ledger.db"));
      other.run("PRAGMA busy_timeout = 5000");
      other.run("DELETE FROM ledger");
      other.close();
    },
  };
}

/** Calls until one is not answered as usual; that one. */
async function fill(call: () => Promise<Response>): Promise<Response> {
  for (let i = 0; i < 500; i++) {
    const response = await call();
    if (response.status !== 200 || response.headers.has("vexel-ledger")) return response;
    await response.text();
  }
  throw new Error("the ledger was never full");
}

describe("a full ledger, where calls are refused", () => {
  test("refuses them before any upstream is asked, is not ready, says why, and recovers", async () => {
    const { gateway, fake, call, ready, makeRoom } = startSmall("refuse");
    expect((await ready()).status).toBe(200);
    // The one that finds out was paid for already: its row is kept, and tells what it used.
    const first = await fill(call);
    const message = await expectFault(first, "ledger_unavailable");
    expect(message).toContain("VEXEL_DATA");
    expect(first.headers.get("retry-after")).toBe("5");

    fake.clear();
    for (const refused of [await call(), await call()])
      await expectFault(refused, "ledger_unavailable");
    expect(fake.requests).toHaveLength(0);
    const notReady = await ready();
    expect(notReady.status).toBe(503);
    expect(await notReady.json()).toMatchObject({ status: "not ready", ledger: "unwritable" });
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    const told = gateway
      .log()
      .split("\n")
      .filter((line) => line.includes("ledger-unwritable"));
    expect(told).toHaveLength(1);
    expect(JSON.parse(told[0]!)).toMatchObject({
      level: "error",
      event: "ledger-unwritable",
      policy: "refuse",
      reason: expect.stringContaining("full"),
    });

    makeRoom();
    await until(() => gateway.log().includes("ledger-recovered"));
    expect((await ready()).status).toBe(200);
    const next = await call();
    expect(next.status).toBe(200);
    expect(gateway.rows()).toEqual([
      expect.objectContaining({
        requestId: first.headers.get("x-request-id"),
        status: 503,
        fault: "ledger_unavailable",
        inputTokens: 1,
        attempts: 1,
      }),
      expect.objectContaining({ requestId: next.headers.get("x-request-id"), status: 200 }),
    ]);
  });

  test("ends a stream with an error instead of its last event", async () => {
    const { gateway, call } = startSmall("refuse");
    // Leaves room for nothing more, without the gateway knowing.
    await fillQuietly(gateway.folder);
    const response = await gateway.post("/v1/images/generations", {
      model: painter,
      prompt: "an otter",
      stream: true,
    });
    const text = await response.text();
    expect(text).toContain("event: error");
    expect(text).toContain("ledger_unavailable");
    expect(text).not.toContain(".completed");
    await expectFault(await call(), "ledger_unavailable");
  });
});

/** Rows until no more fit, written beside the gateway. */
async function fillQuietly(folder: string): Promise<void> {
  const other = new Database(join(folder, "ledger.db"));
  other.run("PRAGMA busy_timeout = 5000");
  other.run("PRAGMA max_page_count = 7");
  const insert = other.prepare(
    "INSERT INTO ledger VALUES (?, 0, 'x', 'x', '', '', '', 0, 0, '', 0, 0, 0, 0, 0, 0)",
  );
  expect(() => {
    for (let i = 0; ; i++) insert.run(`filler-${i}`);
  }).toThrow("full");
  other.close();
}

describe("a full ledger, where calls are served", () => {
  test("answers them and says so, stays ready, and writes their rows once there is room", async () => {
    const { gateway, call, ready, makeRoom } = startSmall("serve");
    const answers = [await fill(call), await call(), await call()];
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(answer.headers.get("vexel-ledger")).toBe("unsettled");
      expect(await answer.json()).toMatchObject({ object: "list" });
    }
    const state = await ready();
    expect(state.status).toBe(200);
    expect(await state.json()).toMatchObject({ status: "ready", ledger: "unwritable" });
    expect(gateway.log()).toContain('"policy":"serve"');

    makeRoom();
    await until(() => gateway.log().includes("ledger-recovered"));
    const settled = await call();
    expect(settled.headers.has("vexel-ledger")).toBe(false);
    expect(gateway.rows().map(({ requestId, status }) => [requestId, status])).toEqual(
      [...answers, settled].map(({ headers }) => [headers.get("x-request-id")!, 200]),
    );
  });

  test("but refuses them once no more rows can be kept, before any money is spent", async () => {
    const ledger = new Ledger({
      file: {
        write: () => {
          throw new Error("disk full");
        },
      },
      onFault: "serve",
      maxHeld: 3,
      report: () => undefined,
    });
    const row = {} as LedgerRow;
    for (let i = 0; i < 3; i++) {
      ledger.admit();
      expect(await ledger.settle(row)).toBe("unsettled");
    }
    expect(() => ledger.admit()).toThrow("cannot write its ledger");
    expect(ledger.close()).toEqual({ lost: 3 });
  });
});

test("rows that could not be written when the gateway stops are reported as lost", async () => {
  const { gateway, call } = startSmall("serve");
  await fill(call);
  await call();
  cleanUps.pop();
  let told = "";
  const { log } = gateway;
  await gateway.close();
  told = log();
  expect(told).toContain('"event":"ledger-rows-lost","rows":2');
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

  test("fails, and recovers by itself when the lock is gone; no row is lost", async () => {
    const edge = startEdge();
    cleanUps.push(() => edge.close());
    const { gateway, fake } = edge;
    const call = () => gateway.post("/v1/embeddings", { model: embedder, input: "a" });
    const before = await call();
    const unlock = await lock(join(gateway.folder, "ledger.db"));
    const during = [await call(), await call()];
    for (const response of during) await expectFault(response, "ledger_unavailable");
    expect(fake.requests).toHaveLength(2);
    expect(gateway.log()).toContain("locked");
    await unlock();
    await until(() => gateway.log().includes("ledger-recovered"));
    const after = await call();
    expect(gateway.rows().map(({ requestId, status }) => [requestId, status])).toEqual([
      [before.headers.get("x-request-id")!, 200],
      [during[0]!.headers.get("x-request-id")!, 503],
      [after.headers.get("x-request-id")!, 200],
    ]);
  });
});

/** How a start ends that cannot succeed. */
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

describe("a data folder that is of no use ends the start with exit code 1 and one clear line", () => {
  const expectComplaint = ({ code, out, err }: Awaited<ReturnType<typeof failedStart>>): string => {
    expect({ code, out }, err).toEqual({ code: 1, out: "" });
    expect(err.trim().split("\n")).toHaveLength(1);
    expect(err).not.toContain("    at ");
    return err;
  };

  test.each([
    ["a file", (folder: string) => join(folder, "file")],
    ["below a file", (folder: string) => join(folder, "file", "data")],
    ["where nothing can be made", () => "/proc/nope"],
  ])("%s", async (_, pathIn) => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "file"), "not a folder");
    const data = pathIn(folder.path);
    const err = expectComplaint(await failedStart(data, folder.path));
    expect(err).toStartWith(`The folder ${data} (VEXEL_DATA) cannot be used: `);
  });

  test.each([
    ["ledger.db", 10],
    ["ledger.db", 60_000],
    ["vexel.db", 60_000],
  ])("with a %s of %d bytes of garbage, which is left as it was", async (name, size) => {
    using folder = temporaryFolder();
    const garbage = crypto.getRandomValues(new Uint8Array(size));
    const path = join(folder.path, name);
    writeFileSync(path, garbage);
    const err = expectComplaint(await failedStart(folder.path, folder.path));
    expect(err).toContain(path);
    expect(err).toContain("damaged or not a database");
    expect(err).toContain("move it away");
    expect(readFileSync(path).equals(Buffer.from(garbage))).toBe(true);
  });

  test("with a ledger of another shape, which is left as it was", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "ledger.db");
    const other = new Database(path, { create: true });
    other.run("CREATE TABLE ledger (something TEXT)");
    other.run("INSERT INTO ledger VALUES ('precious')");
    other.close();
    const err = expectComplaint(await failedStart(folder.path, folder.path));
    expect(err).toContain(path);
    const again = new Database(path);
    expect(again.query("SELECT * FROM ledger").all()).toEqual([{ something: "precious" }]);
    again.close();
  });

  test("with a ledger that is a folder", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "ledger.db"));
    const err = expectComplaint(await failedStart(folder.path, folder.path));
    expect(err).toContain(join(folder.path, "ledger.db"));
  });
});

const mount = (...args: string[]): boolean =>
  Bun.spawnSync(["mount", ...args], { stdout: "ignore", stderr: "ignore" }).success;
const unmount = (path: string): boolean =>
  Bun.spawnSync(["umount", "-l", path], { stdout: "ignore", stderr: "ignore" }).success;

function mayMount(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  // There it must be possible: a promise that is never checked is none.
  if (process.env.CI === "true") return true;
  using folder = temporaryFolder();
  return mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", folder.path) && unmount(folder.path);
}

/** Only with a disk of one's own can it really be full. */
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

    test("that is full, calls are refused, uploads too; with room again, all is well", async () => {
      const { folder, disk } = smallDisk();
      const fake = startFake();
      cleanUps.push(() => fake.close());
      const gateway = await startProcess({ folder, yaml: configFor(fake.url) });
      cleanUps.push(async () => {
        gateway.kill("SIGKILL");
        await gateway.exited;
      });
      const call = () => gateway.post("/v1/embeddings", { model: embedder, input: "a" });
      const edit = () => {
        const form = new FormData();
        form.append("model", painter);
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
      expect((await call()).status).toBe(200);
      expect((await edit()).status).toBe(200);

      // Room for rows, but not for an upload.
      writeFileSync(join(disk, "ballast"), new Uint8Array(900_000));
      await expectFault(await edit(), "storage_unavailable");
      expect((await call()).status).toBe(200);

      const fillUp = () =>
        Bun.spawnSync(["dd", "if=/dev/zero", `of=${join(disk, "more")}`, "bs=4k"], {
          stderr: "ignore",
        });
      let refused: Response | undefined;
      for (let i = 0; i < 50 && refused === undefined; i++) {
        fillUp();
        const response = await call();
        if (response.status !== 200) refused = response;
      }
      await expectFault(refused!, "ledger_unavailable");
      expect((await fetch(`${gateway.url}/readyz`)).status).toBe(503);
      await until(() => gateway.output().includes("ledger-unwritable"));

      for (const name of ["ballast", "more"]) rmSync(join(disk, name));
      await until(() => gateway.output().includes("ledger-recovered"));
      expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
      expect((await call()).status).toBe(200);
      expect((await edit()).status).toBe(200);
      const rows = readLedger(disk);
      const id = refused!.headers.get("x-request-id");
      expect(rows.find(({ requestId }) => requestId === id)).toMatchObject({
        status: 503,
        inputTokens: 1,
      });
    });

    test("that is read-only, the start ends with exit code 1 and a clear line", async () => {
      const { folder, disk } = smallDisk();
      expect(mount("-o", "remount,ro", disk)).toBe(true);
      const { code, err } = await failedStart(disk, folder);
      expect(code).toBe(1);
      expect(err).toContain(disk);
      expect(err).not.toContain("    at ");
    });

    test("that becomes read-only between two starts, it is the same", async () => {
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
