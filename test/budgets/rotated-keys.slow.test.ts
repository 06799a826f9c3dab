/** A rotated key and the key that replaced it have one budget and one set of limits. */
import { afterAll, expect, test } from "bun:test";
import type { CreatedApiKey } from "../../contract/admin.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { testWith } from "../programs.ts";
import { replicaStarter } from "../replicas/replica-fixture.ts";
import { sharedPostgres } from "../storage/postgres-server.ts";
import { startRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";

const fake = startFake();
afterAll(() => fake.close());
const startReplica = replicaStarter(fake.url);
const adminToken = "admin-token-0123456789";
const env = { VEXEL_ADMIN_TOKEN: adminToken };

/** An image of dall-e-3 costs four cents. */
const budgetFor = (images: number) => ({ total: images * 0.04 });

async function send(gateway: GatewayProcess, path: string, body: object): Promise<CreatedApiKey> {
  const headers = { authorization: `Bearer ${adminToken}` };
  const response = await gateway.post(`/admin/api${path}`, body, headers);
  expect(response.status).toBe(201);
  return (await response.json()) as CreatedApiKey;
}

const create = (gateway: GatewayProcess, settings: object) =>
  send(gateway, "/keys", { name: "app", models: ["*"], ...settings });

const rotate = (gateway: GatewayProcess, { id }: CreatedApiKey, overlapHours: number) =>
  send(gateway, `/keys/${id}/rotate`, { overlapHours });

async function generate(gateway: GatewayProcess, { key }: CreatedApiKey): Promise<number> {
  const body = { model: "dall-e-3", prompt: "an otter" };
  const headers = { authorization: `Bearer ${key}` };
  const response = await gateway.post("/v1/images/generations", body, headers);
  await response.text();
  return response.status;
}

test("the amount spent moves with a rotated key, and both keys of an overlap share one budget, also after a restart", async () => {
  using folder = temporaryFolder();
  const start = () => startProcess({ folder: folder.path, yaml: configFor(fake.url), env });
  const gateway = await start();
  const first = await create(gateway, { budget: budgetFor(1) });
  expect(await generate(gateway, first)).toBe(200);
  const second = await rotate(gateway, first, 0);
  expect(await generate(gateway, second)).toBe(429);
  expect(await generate(gateway, await rotate(gateway, second, 0))).toBe(429);

  const old = await create(gateway, { budget: budgetFor(3) });
  expect(await generate(gateway, old)).toBe(200);
  const replacement = await rotate(gateway, old, 24);
  expect(await generate(gateway, replacement)).toBe(200);
  expect(await generate(gateway, old)).toBe(200);
  expect([await generate(gateway, old), await generate(gateway, replacement)]).toEqual([429, 429]);
  gateway.kill("SIGTERM");
  await gateway.exited;

  const restarted = await start();
  for (const key of [old, replacement]) expect(await generate(restarted, key)).toBe(429);
  expect(await generate(restarted, await rotate(restarted, old, 0))).toBe(429);
  await restarted.close();
});

test("both keys of an overlap share one rate limit, which stays when one of them is revoked", async () => {
  using folder = temporaryFolder();
  const gateway = await startProcess({ folder: folder.path, yaml: configFor(fake.url), env });
  const old = await create(gateway, { limits: { requestsPerMinute: 2 } });
  const replacement = await rotate(gateway, old, 24);
  const statuses = [await generate(gateway, old), await generate(gateway, replacement)];
  expect(statuses).toEqual([200, 200]);
  const headers = { authorization: `Bearer ${adminToken}` };
  const url = `${gateway.url}/admin/api/keys/${old.id}`;
  expect((await fetch(url, { method: "DELETE", headers })).status).toBe(204);
  expect(await generate(gateway, replacement)).toBe(429);
  await gateway.close();
});

testWith("postgresql", "redis")(
  "the amount spent moves with a rotated key to another replica",
  async () => {
    using folder = temporaryFolder();
    const redis = await startRedis();
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const options = { folder: folder.path, databaseUrl, env: { ...env, REDIS_URL: redis.url } };
    const a = await startReplica({ ...options, name: "a" });
    const b = await startReplica({ ...options, name: "b" });
    const first = await create(a, { budget: budgetFor(2) });
    const statuses = [await generate(a, first)];
    const second = await rotate(a, first, 24);
    const knowsSecond = async () => {
      const headers = { authorization: `Bearer ${second.key}` };
      return (await fetch(`${b.url}/v1/models`, { headers })).status === 200;
    };
    await until(knowsSecond);
    for (const gateway of [b, a, b, a])
      for (const key of [second, first]) statuses.push(await generate(gateway, key));
    expect(statuses.filter((status) => status === 200)).toHaveLength(2);
    expect(statuses.filter((status) => status === 429)).toHaveLength(7);
    await redis.stop();
  },
);
