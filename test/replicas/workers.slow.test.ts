/** Workers: several processes on one port, supervised. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { configFor, type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { embeddingModel } from "../http/gateway-fixture.ts";
import { freePort, hasPostgres, sharedPostgres } from "../storage/postgres-server.ts";
import { type RedisServer, startRedis, testWithRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";
import { sharedSecret } from "./replica-fixture.ts";

const fake = startFake();
let redis: RedisServer | undefined;
let databaseUrl = "";
beforeAll(async () => {
  if (!hasPostgres) return;
  redis = await startRedis();
  databaseUrl = await (await sharedPostgres()).createDatabase();
});
afterAll(async () => {
  fake.close();
  await redis?.stop();
});

const start = (folder: string, env: Readonly<Record<string, string>>): Promise<GatewayProcess> =>
  startProcess({
    folder,
    yaml: configFor(fake.url),
    env: { VEXEL_WORKERS: "2", VEXEL_SECRET: sharedSecret, ...env },
  });

test("workers without a database, or without Redis for limits and images, do not start, and the message says why", async () => {
  using folder = temporaryFolder();
  await expect(start(folder.path, {})).rejects.toThrow("without DATABASE_URL");
  if (!hasPostgres) return;
  await expect(start(folder.path, { DATABASE_URL: databaseUrl })).rejects.toThrow(
    "image models with idempotent requests are configured, which workers must share: set REDIS_URL",
  );
});

testWithRedis(
  "two workers share the port and the metrics, a killed worker is replaced, and a signal drains both",
  async () => {
    using folder = temporaryFolder();
    const metricsPort = await freePort();
    const gateway = await start(folder.path, {
      ...{ DATABASE_URL: databaseUrl, REDIS_URL: redis?.url ?? "" },
      VEXEL_METRICS_PORT: String(metricsPort),
    });
    const replicas = async (): Promise<number> =>
      ((await (await fetch(`${gateway.url}/readyz`)).json()) as { replicas: number }).replicas;
    await until(async () => (await replicas()) === 2);
    expect(readdirSync(join(folder.path, "data")).toSorted()).toEqual(["worker-1", "worker-2"]);
    // Each request has a connection of its own, and the kernel chooses the worker.
    const ask = async (text: string): Promise<number | undefined> => {
      try {
        const body = { model: embeddingModel, input: text };
        const response = await gateway.post("/v1/embeddings", body, { connection: "close" });
        return response.status;
      } catch {
        return undefined;
      }
    };
    const statuses = await Promise.all(Array.from({ length: 40 }, (_, at) => ask(`text ${at}`)));
    expect(new Set(statuses)).toEqual(new Set([200]));
    const metrics = async (): Promise<string> =>
      (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    await until(async () => /vexel_requests_total\{[^}]*\} 40\b/.test(await metrics()));

    const [worker] = childrenOf(gateway.pid);
    process.kill(worker as number, "SIGKILL");
    await until(() => gateway.output().includes("worker-exited"));
    await until(() => childrenOf(gateway.pid).filter((pid) => pid !== worker).length === 2);
    await until(async () => (await ask("after the restart")) === 200);
    gateway.kill("SIGTERM");
    expect(await gateway.exited).toBe(0);
    expect(gateway.output().match(/"stopped"/g)?.length).toBeGreaterThanOrEqual(1);
  },
);

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter((text) => text.trim() !== "")
    .map(Number);
