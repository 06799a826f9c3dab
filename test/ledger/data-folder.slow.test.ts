/**
 * The data folder is removed, replaced or damaged while the gateway runs: detected, logged, and no successful response
 * without a row.
 */

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { closeAfterEach } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import {
  configFor,
  type GatewayProcess,
  readLedger,
  startProcess,
  temporaryFolder,
} from "../harness.ts";
import { embeddingModel, expectError } from "../http/gateway-fixture.ts";
import { until } from "../until.ts";

const closing = closeAfterEach();

const adminToken = "admin-0123456789abcdef";

interface Running {
  readonly gateway: GatewayProcess;
  readonly data: string;
  embed(): Promise<Response>;
  ready(): Promise<Response>;
  /** Stops the gateway with SIGTERM. */
  stop(): Promise<number>;
}

async function start(env: Record<string, string> = {}): Promise<Running> {
  const [folder, fake] = [temporaryFolder(), startFake()];
  closing(folder, fake);
  const gateway = await startProcess({
    folder: folder.path,
    yaml: configFor(fake.url),
    env: { VEXEL_LOG_LEVEL: "warn", ...env },
  });
  closing(gateway);
  return {
    gateway,
    data: join(folder.path, "data"),
    embed: () => gateway.post("/v1/embeddings", { model: embeddingModel, input: "a" }),
    ready: () => fetch(`${gateway.url}/readyz`),
    stop: () => {
      gateway.kill("SIGTERM");
      return gateway.exited;
    },
  };
}

/**
 * Sends requests in 8 loops until stopped, with short pauses, and collects the IDs of the responses with status 200.
 */
function startLoad({ embed }: Running) {
  const successful: string[] = [];
  let refused = 0;
  let stopped = false;
  const load = Promise.all(
    Array.from({ length: 8 }, async () => {
      while (!stopped) {
        const response = await embed();
        await response.text();
        if (response.status === 200) successful.push(response.headers.get("x-request-id")!);
        else refused++;
        await Bun.sleep(5);
      }
    }),
  );
  return {
    successful,
    refused: () => refused,
    stop: () => {
      stopped = true;
      return load;
    },
  };
}

const idsIn = (folder: string): Set<string> =>
  new Set(readLedger(folder).map(({ requestId }) => requestId));

/** A clean shutdown: exit code 0, and no stack trace. */
function expectCleanExit(code: number, { gateway }: Running): void {
  const output = gateway.output();
  expect(code, output).toBe(0);
  expect(output).not.toMatch(/\n\s+at |ENOENT|[Uu]ncaught/);
}

describe("a data folder that is removed while the gateway runs", () => {
  test("is detected by /readyz; requests are refused, the log has the reason, and the shutdown is clean", async () => {
    const running = await start({ VEXEL_ADMIN_TOKEN: adminToken });
    expect((await running.embed()).status).toBe(200);
    rmSync(running.data, { recursive: true });
    const ready = await running.ready();
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({
      status: "not ready",
      ledger: "unwritable",
      data_folder: "failed",
    });
    await expectError(await running.embed(), "ledger_unavailable");
    const { output } = running.gateway;
    await until(() => output().includes("ledger-unwritable"));
    expect(output()).toContain("was removed while the gateway was running");
    const events = await fetch(`${running.gateway.url}/admin/api/events`, {
      headers: { authorization: `Bearer ${adminToken}` },
    });
    expect(await events.text()).toContain("ledger.unwritable");
    expectCleanExit(await running.stop(), running);
    expect(output()).not.toContain("ledger-recovered");
  });

  test("is detected without any request", async () => {
    const { gateway, data } = await start();
    rmSync(data, { recursive: true });
    await until(() => gateway.output().includes("ledger-unwritable"));
  });

  test('does not stop the service under the policy "serve", and each response says that it has no row', async () => {
    const running = await start({ VEXEL_ON_LEDGER_ERROR: "serve" });
    rmSync(running.data, { recursive: true });
    const ready = await running.ready();
    expect(ready.status).toBe(200);
    expect(await ready.json()).toMatchObject({ ledger: "unwritable" });
    for (let times = 0; times < 3; times++) {
      const response = await running.embed();
      expect(response.status).toBe(200);
      expect(response.headers.get("vexel-ledger")).toBe("unsettled");
    }
    expectCleanExit(await running.stop(), running);
    expect(running.gateway.output()).toContain('"event":"ledger-rows-lost"');
    expect(existsSync(running.data)).toBeFalse();
  });
});

describe("the ledger's write-ahead log", () => {
  test.each([[["-wal"]], [["-wal", "-shm"]]])(
    "removed under load (%p) loses no row of a successful response, even after kill -9",
    async (suffixes) => {
      const running = await start();
      const { gateway, data } = running;
      const load = startLoad(running);
      await until(() => load.successful.length > 50);
      for (const suffix of suffixes) rmSync(join(data, `ledger.db${suffix}`));
      await until(() => load.refused() > 20);
      await load.stop();
      expect(gateway.output()).toContain("ledger.db-wal was removed while the gateway was running");
      expect((await running.ready()).status).toBe(503);
      await gateway.close();
      const folder = dirname(data);
      const next = await startProcess({ folder, yaml: configFor("http://127.0.0.1:9") });
      next.kill("SIGTERM");
      await next.exited;
      const ids = idsIn(data);
      expect(load.successful.filter((id) => !ids.has(id))).toEqual([]);
    },
  );
});

test("removal of the lock file is detected, because another gateway could lock the folder", async () => {
  const running = await start();
  rmSync(join(running.data, "lock.db"));
  await until(() => running.gateway.output().includes("lock.db was removed"));
  expect((await running.ready()).status).toBe(503);
});

test("a data folder that is moved away and recreated under load is detected, and after it is moved back every successful response has its row", async () => {
  const running = await start();
  const { gateway, data } = running;
  const load = startLoad(running);
  await until(() => load.successful.length > 50);
  renameSync(data, `${data}-away`);
  mkdirSync(data);
  await until(() => load.refused() > 20);
  expect(gateway.output()).toMatch(/was (removed|replaced by another one) while the gateway/);
  rmSync(data, { recursive: true });
  renameSync(`${data}-away`, data);
  await until(() => gateway.output().includes("ledger-recovered"));
  const before = load.successful.length;
  await until(() => load.successful.length > before + 20);
  await load.stop();
  expect((await running.ready()).status).toBe(200);
  expectCleanExit(await running.stop(), running);
  const ids = idsIn(data);
  expect(load.successful.filter((id) => !ids.has(id))).toEqual([]);
});

test("replacing the ledger file by a copy while the gateway runs is detected", async () => {
  const running = await start();
  expect((await running.embed()).status).toBe(200);
  const path = join(running.data, "ledger.db");
  Bun.spawnSync(["cp", path, `${path}.copy`]);
  renameSync(`${path}.copy`, path);
  expect((await running.ready()).status).toBe(503);
  await expectError(await running.embed(), "ledger_unavailable");
  await until(() => running.gateway.output().includes("ledger.db was replaced by another one"));
  expectCleanExit(await running.stop(), running);
});
