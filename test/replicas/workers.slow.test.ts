/** Workers: several processes on one port, supervised. */
import { afterAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page, ShownTarget, Statistics } from "../../contract/admin.ts";
import { closeAfterEach } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { embeddingModel } from "../http/gateway-fixture.ts";
import { beforeAllWith, type Program, testWith } from "../programs.ts";
import { freePort, sharedPostgres } from "../storage/postgres-server.ts";
import { type RedisServer, startRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";
import { sharedSecret } from "./replica-fixture.ts";

const closing = closeAfterEach();
const fake = startFake();
let redis: RedisServer | undefined;
let databaseUrl = "";
const needed: readonly Program[] = ["postgresql", "redis"];
const testOfWorkers = testWith(...needed);
beforeAllWith(needed, async () => {
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

test("workers without a database do not start, and the message says why", async () => {
  using folder = temporaryFolder();
  await expect(start(folder.path, {})).rejects.toThrow("without DATABASE_URL");
});

testOfWorkers(
  "workers without Redis for limits and images do not start, and the message says why",
  async () => {
    using folder = temporaryFolder();
    await expect(start(folder.path, { DATABASE_URL: databaseUrl })).rejects.toThrow(
      "image models other than the built-in ones are configured, whose counts or Idempotency-Keys workers must share: set REDIS_URL",
    );
  },
);

testOfWorkers(
  "two workers share the port and all their reports, with the latency of the database and of Redis, a killed worker is replaced, and a signal drains both",
  async () => {
    using folder = temporaryFolder();
    const metricsPort = await freePort();
    const token = "a-token-of-metrics-and-admin";
    const gateway = await start(folder.path, {
      DATABASE_URL: databaseUrl,
      REDIS_URL: redis?.url ?? "",
      VEXEL_METRICS_PORT: String(metricsPort),
      VEXEL_METRICS_TOKEN: token,
      VEXEL_ADMIN_TOKEN: token,
      VEXEL_CACHE_BYTES: String(8 * 1024 * 1024),
    });
    closing(gateway);
    const replicas = async (): Promise<number> =>
      ((await (await fetch(`${gateway.url}/readyz`)).json()) as { replicas: number }).replicas;
    await until(async () => (await replicas()) === 2);
    expect(readdirSync(join(folder.path, "data")).toSorted()).toEqual(["worker-1", "worker-2"]);
    // Each request has a connection of its own, and the kernel chooses the worker.
    const send = async (text: string): Promise<number | undefined> => {
      try {
        const body = { model: embeddingModel, input: text };
        const response = await gateway.post("/v1/embeddings", body, { connection: "close" });
        return response.status;
      } catch {
        return undefined;
      }
    };
    const statuses = await Promise.all(Array.from({ length: 40 }, (_, at) => send(`text ${at}`)));
    expect(new Set(statuses)).toEqual(new Set([200]));
    const read = async (url: string): Promise<string> => {
      const headers = { authorization: `Bearer ${token}`, connection: "close" };
      const response = await fetch(url, { headers });
      expect(response.status).toBe(200);
      return response.text();
    };
    const counted = async (url: string): Promise<number> => {
      const samples = (await read(url)).matchAll(/^vexel_requests_total\{[^}]*\} (\d+)/gm);
      return [...samples].reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const urls = [`${gateway.url}/metrics`, `http://127.0.0.1:${metricsPort}/metrics`];
    for (const url of urls) await until(async () => (await counted(url)) === 40);
    for (const store of ["database", "redis"]) {
      const calls = `vexel_store_call_duration_seconds_count{store="${store}",outcome="success"} `;
      for (const url of urls) await until(async () => (await read(url)).includes(calls));
    }
    // Whichever worker responds, it reports what both have done.
    const admin = async <T>(path: string): Promise<T> =>
      JSON.parse(await read(`${gateway.url}/admin/api${path}`)) as T;
    for (let at = 0; at < 8; at++) {
      expect(await counted(`${gateway.url}/metrics`)).toBe(40);
      expect((await admin<Statistics>("/statistics")).cache.entries).toBe(40);
      const { data } = await admin<Page<ShownTarget>>("/targets");
      expect(data.reduce((sum, { counts }) => sum + (counts.responses ?? 0), 0)).toBe(40);
    }
    // The live tail of one worker has the requests of both.
    const leaving = new AbortController();
    const tail = await fetch(`${gateway.url}/admin/api/requests/live`, {
      headers: { authorization: `Bearer ${token}` },
      signal: leaving.signal,
    });
    // The other worker collects requests from the first tick on.
    const seen = new Set<string>();
    const watching = (async () => {
      for await (const chunk of tail.body as ReadableStream<Uint8Array>)
        for (const [, id = ""] of new TextDecoder().decode(chunk).matchAll(/"id":"([^"]+)"/g))
          seen.add(id);
    })().catch(() => undefined);
    const seenOf = async (): Promise<number> => {
      const before = seen.size;
      await Promise.all(Array.from({ length: 8 }, () => send("text 1")));
      await Bun.sleep(300);
      return seen.size - before;
    };
    await until(async () => (await seenOf()) === 8);
    leaving.abort();
    await watching;
    // The link that creates the first administrator is valid at both: the password is refused, not the link.
    const link = /console\/setup#(\S+)/.exec(gateway.output())?.[1];
    for (let at = 0; at < 8; at++) {
      const setup = await fetch(`${gateway.url}/admin/api/session/setup`, {
        method: "POST",
        headers: { "content-type": "application/json", connection: "close", origin: gateway.url },
        body: JSON.stringify({ token: link, name: "first", password: "short" }),
      });
      expect(setup.status).toBe(400);
    }

    // A worker that hangs has the values of its last reply.
    const [worker] = childrenOf(gateway.pid);
    const total = await counted(`http://127.0.0.1:${metricsPort}/metrics`);
    process.kill(worker as number, "SIGSTOP");
    expect(await counted(`http://127.0.0.1:${metricsPort}/metrics`)).toBe(total);
    process.kill(worker as number, "SIGKILL");
    await until(() => gateway.output().includes("worker-exited"));
    await until(() => childrenOf(gateway.pid).filter((pid) => pid !== worker).length === 2);
    await until(async () => (await send("after the restart")) === 200);
    // Counters never decrease.
    for (const url of urls) expect(await counted(url)).toBeGreaterThanOrEqual(total);
    gateway.kill("SIGTERM");
    expect(await gateway.exited).toBe(0);
    expect(gateway.output()).not.toContain("internal-error");
    expect(gateway.output().match(/"stopped"/g)?.length).toBeGreaterThanOrEqual(1);
  },
);

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter((text) => text.trim() !== "")
    .map(Number);
