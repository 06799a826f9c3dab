/** A batch at a vendor survives the end of the gateway, and is not created twice. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { leaseMs } from "../../../server/storage/redis/limits-scripts.ts";
import { startFakeS3 } from "../../fake-s3.ts";
import type { FakeVendor } from "../../fake-upstream/batches/fake-batches.ts";
import { type GatewayProcess, startProcess, temporaryFolder, testKey } from "../../harness.ts";
import { testsWith } from "../../programs.ts";
import { sharedPostgres } from "../../storage/postgres-server.ts";
import { startRedis } from "../../storage/redis-server.ts";
import { until } from "../../until.ts";
import {
  createBatch,
  endOf,
  inputLine,
  resultsOf,
  sdk,
  startVendor,
  vendorModels,
  vendorYaml,
} from "./vendor-fixture.ts";

let folder: ReturnType<typeof temporaryFolder>;
let vendor: FakeVendor;
let running: GatewayProcess | undefined;

beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  await running?.close();
  running = undefined;
  // A test that failed early has started none.
  (vendor as FakeVendor | undefined)?.close();
  folder[Symbol.dispose]();
});

const start = async (
  kind: Parameters<typeof startVendor>[0],
  env: Readonly<Record<string, string>> = {},
) => {
  running = await startProcess({
    folder: folder.path,
    env,
    yaml: vendorYaml(kind, vendor.url, { model: "batches: vendor" }),
  });
  return sdk(running.url);
};
const stop = async (signal: NodeJS.Signals): Promise<void> => {
  running?.kill(signal);
  await running?.exited;
};

const ids = Array.from({ length: 20 }, (_, at) => `id-${at}`);
const file = ids.map((id) => inputLine(id, `text ${id}`)).join("");

describe.each([
  ["openai", "SIGKILL"],
  ["gemini", "SIGTERM"],
] as const)("at %s, after %s", (kind, signal) => {
  test("the vendor's batch is polled again, and its results are complete", async () => {
    vendor = startVendor(kind);
    vendor.control.isReady = false;
    const { id } = await createBatch(await start(kind), file);
    await until(() => vendor.batches[0]?.state === "running");
    await stop(signal);
    vendor.control.isReady = true;
    const client = await start(kind);
    const batch = await endOf(client, id);
    expect(batch).toMatchObject({
      status: "completed",
      request_counts: { total: 20, completed: 20, failed: 0 },
    });
    expect([...(await resultsOf(client, batch)).keys()].sort()).toEqual(ids.toSorted());
    expect(vendor.batches).toHaveLength(1);
  });
});

test("a vendor's results are delivered although requests may have fewer inputs after a restart", async () => {
  vendor = startVendor("openai");
  vendor.control.isReady = false;
  const text = inputLine("a", ["one", "two", "three"]);
  const { id } = await createBatch(await start("openai"), text);
  await until(() => vendor.batches[0]?.state === "running");
  await stop("SIGTERM");
  vendor.control.isReady = true;
  const client = await start("openai", { VEXEL_MAX_INPUTS: "2" });
  const batch = await endOf(client, id);
  expect(batch).toMatchObject({ request_counts: { total: 1, completed: 1, failed: 0 } });
});

testsWith(["postgresql"], import.meta.file, () => {
  test("another replica reads the results of a vendor's batch when the one that created it is killed", async () => {
    vendor = startVendor("openai");
    vendor.control.isReady = false;
    const s3 = startFakeS3();
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const startReplica = async (name: string): Promise<GatewayProcess> => {
      const own = join(folder.path, name);
      mkdirSync(own);
      return startProcess({
        folder: own,
        yaml: vendorYaml("openai", vendor.url, { model: "batches: vendor" }),
        env: {
          DATABASE_URL: databaseUrl,
          BLOB_URL: s3.url("vexel"),
          VEXEL_SECRET: "the-secret-of-all-replicas",
        },
      });
    };
    const first = await startReplica("a");
    try {
      const { id } = await createBatch(sdk(first.url), file);
      await until(() => vendor.batches[0]?.state === "running");
      running = await startReplica("b");
      await first.close();
      vendor.control.isReady = true;
      const client = sdk(running.url);
      const batch = await endOf(client, id);
      expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 20 } });
      expect([...(await resultsOf(client, batch)).keys()].sort()).toEqual(ids.toSorted());
      expect(vendor.batches).toHaveLength(1);
    } finally {
      await first.close();
      s3.stop();
    }
  });
});

testsWith(["postgresql", "redis"], import.meta.file, () => {
  test("the budget of a batch at the vendor stays reserved when the replica that created it is killed", async () => {
    vendor = startVendor("openai");
    vendor.control.isReady = false;
    const { price, factor } = vendorModels.openai;
    const [lines, tokens] = [50, 250];
    const text = (name: string) => `${name} ${"word ".repeat(200)}`;
    const estimate = (lines * tokens * price * factor) / 1_000_000;
    const s3 = startFakeS3();
    const redis = await startRedis();
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const startReplica = async (name: string): Promise<GatewayProcess> => {
      const own = join(folder.path, name);
      mkdirSync(own);
      return startProcess({
        folder: own,
        yaml: vendorYaml("openai", vendor.url, {
          model: "batches: vendor",
          key: `, budget: { total: ${estimate * 1.2} }`,
        }),
        env: {
          DATABASE_URL: databaseUrl,
          REDIS_URL: redis.url,
          BLOB_URL: s3.url("vexel"),
          VEXEL_SECRET: "the-secret-of-all-replicas",
        },
      });
    };
    /** The status of a request with texts of the same length. */
    const statusAt = async ({ url }: GatewayProcess, inputs: number): Promise<number> => {
      const input = Array.from({ length: inputs }, (_, at) => text(`now ${at}`));
      const response = await fetch(`${url}/v1/embeddings`, {
        method: "POST",
        headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "embedding", input }),
      });
      await response.text();
      return response.status;
    };
    const first = await startReplica("a");
    try {
      running = await startReplica("b");
      const file = Array.from({ length: lines }, (_, at) => inputLine(`${at}`, text(`${at}`)));
      const { id } = await createBatch(sdk(first.url), file.join(""));
      await until(() => vendor.batches[0]?.state === "running");
      first.kill("SIGKILL");
      await first.exited;
      const statuses: number[] = [];
      for (const end = Date.now() + 2 * leaseMs; Date.now() < end; await Bun.sleep(100))
        // They would cost as much as the batch.
        statuses.push(await statusAt(running, lines * factor));
      expect(new Set(statuses)).toEqual(new Set([429]));
      vendor.control.isReady = true;
      expect(await endOf(sdk(running.url), id)).toMatchObject({
        status: "completed",
        request_counts: { completed: lines },
      });
      // Their cost is charged, and nothing is reserved any more. The upstream itself serves batches only.
      const second = running;
      await until(async () => (await statusAt(second, 1)) !== 429);
    } finally {
      await first.close();
      await redis.stop();
      s3.stop();
    }
  });
});

describe.each([
  ["its input file is uploaded", "POST /v1/files", 2],
  ["it is created", "POST /v1/batches", 1],
  ["its results are downloaded", "GET /v1/files/batch_0-output/content", 1],
])("a gateway that is killed while %s", (_, step, uploads) => {
  test("goes on with the batch, and creates it once", async () => {
    vendor = startVendor("openai");
    const arrived = Promise.withResolvers<void>();
    vendor.control.failure = (request) => {
      if (request !== step) return undefined;
      arrived.resolve();
      // No response until the process has ended.
      return new Promise(() => undefined);
    };
    const { id } = await createBatch(await start("openai"), file);
    await arrived.promise;
    await stop("SIGKILL");
    vendor.control.failure = () => undefined;
    const client = await start("openai");
    // Whether it was created is certain after two minutes only.
    const batch = await endOf(client, id).catch(() => endOf(client, id));
    expect(batch).toMatchObject({
      status: "completed",
      request_counts: { total: ids.length, completed: ids.length, failed: 0 },
    });
    expect([...(await resultsOf(client, batch)).keys()].sort()).toEqual(ids.toSorted());
    expect(vendor.batches).toHaveLength(1);
    expect(vendor.requests.filter((request) => request === "POST /v1/files")).toHaveLength(uploads);
    await until(() => vendor.files.size === 0);
  });
});

test("a batch that was being created when the gateway was killed is found by its name", async () => {
  vendor = startVendor("openai");
  vendor.control.losesResponse = true;
  vendor.control.isReady = false;
  const { id } = await createBatch(await start("openai"), file);
  await until(() => vendor.batches.length === 1);
  await stop("SIGKILL");
  vendor.control.isReady = true;
  const client = await start("openai");
  const batch = await endOf(client, id);
  expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 20 } });
  expect(vendor.batches).toHaveLength(1);
});
