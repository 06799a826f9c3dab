/** The latency of the stores that replicas share. */
import { afterAll, expect } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import { testWith } from "../programs.ts";
import { sharedPostgres } from "../storage/postgres-server.ts";
import { startRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";
import { replicaStarter } from "./replica-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());
const start = replicaStarter(fake.url);

testWith("postgresql", "redis")(
  "metrics have the latency of queries and of Redis commands",
  async () => {
    using folder = temporaryFolder();
    const redis = await startRedis();
    await using _redis = { [Symbol.asyncDispose]: () => redis.stop() };
    const token = "metrics-token-0123456789";
    const gateway = await start({
      folder: folder.path,
      name: "a",
      databaseUrl: await (await sharedPostgres()).createDatabase(),
      env: { REDIS_URL: redis.url, VEXEL_METRICS_TOKEN: token },
    });
    await until(async () => {
      const response = await fetch(`${gateway.url}/metrics`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const text = await response.text();
      return ["database", "redis"].every((store) =>
        new RegExp(
          `vexel_store_call_duration_seconds_count{store="${store}",outcome="success"} [1-9]`,
        ).test(text),
      );
    });
    await gateway.close();
    expect(gateway.output()).not.toContain("internal-error");
  },
);
