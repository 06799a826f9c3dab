/** A rotated key and the key that replaced it have one budget on every replica. */
import { afterAll, expect } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import { testWith } from "../programs.ts";
import { replicaStarter } from "../replicas/replica-fixture.ts";
import { sharedPostgres } from "../storage/postgres-server.ts";
import { startRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";
import { adminToken, budgetFor, create, generate, rotate } from "./rotated-keys-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());
const startReplica = replicaStarter(fake.url);
const env = { VEXEL_ADMIN_TOKEN: adminToken };

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
