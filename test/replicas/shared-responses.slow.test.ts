/** Stored responses of image requests are replayed by every replica. */
import { afterAll, expect } from "bun:test";
import { startFakeS3 } from "../fake-s3.ts";
import { startFake } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import { bearer, expectError, imageModel } from "../http/gateway-fixture.ts";
import { testWith } from "../programs.ts";
import { sharedPostgres, testWithPostgres } from "../storage/postgres-server.ts";
import { startRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";
import { replicaStarter } from "./replica-fixture.ts";

const fake = startFake();
const s3 = startFakeS3();
afterAll(async () => {
  fake.close();
  await s3.stop();
});
const start = replicaStarter(fake.url);
const request = { model: imageModel, prompt: "an otter", size: "1024x1024" };

testWith("postgresql", "redis")(
  "two equal image requests at the same time on two replicas are generated once, and both clients get the same bytes",
  async () => {
    using folder = temporaryFolder();
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const redis = await startRedis();
    const env = { REDIS_URL: redis.url, BLOB_URL: s3.url("at-the-same-time") };
    const options = { folder: folder.path, databaseUrl, env };
    const replicas = [
      await start({ ...options, name: "a" }),
      await start({ ...options, name: "b" }),
    ];
    const headers = { ...bearer, "idempotency-key": "at the same time" };
    const before = fake.requests.length;
    const bodies = await Promise.all(
      replicas.map(async (replica) => {
        const response = await replica.post("/v1/images/generations", request, headers);
        expect(response.status).toBe(200);
        return response.text();
      }),
    );
    expect(bodies[0]).toBe(bodies[1] ?? "");
    expect(fake.requests.length - before).toBe(1);
    await redis.stop();
  },
);

testWithPostgres(
  "an image request with the same idempotency key is replayed by another replica, and generated once, also after a HEAD request for its response at another replica",
  async () => {
    using folder = temporaryFolder();
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const env = { BLOB_URL: s3.url("replayed") };
    const options = { folder: folder.path, databaseUrl, env };
    const a = await start({ ...options, name: "a" });
    const b = await start({ ...options, name: "b" });
    const headers = { ...bearer, "idempotency-key": "the same on both" };
    const before = fake.requests.length;
    const first = await a.post("/v1/images/generations", request, headers);
    const body = await first.text();
    expect(first.status).toBe(200);
    const replayed = await b.post("/v1/images/generations", request, headers);
    expect(replayed.status).toBe(200);
    expect(await replayed.text()).toBe(body);
    expect(fake.requests.length - before).toBe(1);
    const other = { ...request, prompt: "a cat" };
    expect((await b.post("/v1/images/generations", other, headers)).status).toBe(409);

    const polledBefore = fake.requests.length;
    fake.script({ delayMs: 300 });
    const client = new AbortController();
    const json = { ...bearer, "content-type": "application/json" };
    const polled = { ...request, prompt: "polled on another replica" };
    const init = { method: "POST", headers: json, body: JSON.stringify(polled) };
    const disconnected = fetch(`${a.url}/v1/images/generations`, {
      ...init,
      headers: { ...json, "x-client-request-id": "polled" },
      signal: client.signal,
    }).catch(() => undefined);
    await until(() => fake.requests.length > polledBefore);
    client.abort();
    await disconnected;
    const poll = { method: "HEAD", headers: json };
    for (const replica of [b, a]) {
      const url = `${replica.url}/v1/images/results/polled`;
      await until(async () => (await fetch(url, poll)).status === 200);
    }
    const retry = await fetch(`${a.url}/v1/images/generations`, init);
    expect(retry.headers.get("idempotent-replayed")).toBe("true");
    expect(fake.requests.length - polledBefore).toBe(1);
  },
);

testWith("postgresql", "redis")(
  "without an object store, another replica refuses a key that was processed; without Redis, every key is refused; nothing is paid twice",
  async () => {
    using folder = temporaryFolder();
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const redis = await startRedis();
    const options = { folder: folder.path, databaseUrl, env: { REDIS_URL: redis.url } };
    const a = await start({ ...options, name: "a" });
    const b = await start({ ...options, name: "b" });
    const headers = { ...bearer, "idempotency-key": "processed" };
    const before = fake.requests.length;
    const first = await a.post("/v1/images/generations", request, headers);
    const body = await first.text();
    const refused = await b.post("/v1/images/generations", request, headers);
    expect(refused.headers.get("x-should-retry")).toBe("false");
    await expectError(refused, "storage_unavailable");
    await redis.stop();
    await until(async () => {
      const health = (await (await fetch(`${b.url}/readyz`)).json()) as { redis: string };
      return health.redis === "unavailable";
    });
    const unknown = await b.post("/v1/images/generations", request, {
      ...bearer,
      "idempotency-key": "new",
    });
    expect(unknown.headers.get("retry-after")).toBe("2");
    await expectError(unknown, "storage_unavailable");
    const replayed = await a.post("/v1/images/generations", request, headers);
    expect([replayed.status, await replayed.text()]).toEqual([200, body]);
    expect(fake.requests.length - before).toBe(1);
    expect((await b.post("/v1/images/generations", request, bearer)).status).toBe(200);
  },
);
