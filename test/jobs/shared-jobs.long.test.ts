/** Replicas that share a database and an object store share image jobs. */
import { afterEach, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startFakeS3 } from "../fake-s3.ts";
import { type GatewayProcess, startProcess, temporaryFolder, testKey } from "../harness.ts";
import { testsWith } from "../programs.ts";
import { sharedPostgres } from "../storage/postgres-server.ts";
import { startRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";
import { endOf, jobClient } from "./jobs-fixture.ts";
import { startVendor, vendorConfig } from "./vendor-fixture.ts";

testsWith(["postgresql"], import.meta.file, () => {
  const replicas: GatewayProcess[] = [];
  afterEach(async () => {
    for (const replica of replicas.splice(0)) await replica.close();
  });

  test("a job of one replica is read at another, which goes on with it when the first is killed", async () => {
    using folder = temporaryFolder();
    const vendor = startVendor();
    const s3 = startFakeS3();
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const start = async (name: string): Promise<GatewayProcess> => {
      const own = join(folder.path, name);
      mkdirSync(own);
      const replica = await startProcess({
        folder: own,
        yaml: vendorConfig(vendor.origin),
        env: {
          DATABASE_URL: databaseUrl,
          BLOB_URL: s3.url("vexel"),
          VEXEL_SECRET: "the-secret-of-all-replicas",
        },
      });
      replicas.push(replica);
      return replica;
    };
    try {
      const first = await start("a");
      const { submit } = jobClient(first.url);
      const job = await submit({ model: "queued", prompt: "an otter" });
      await until(() => vendor.polls > 0);
      const client = jobClient((await start("b")).url);
      expect((await client.list()).data).toMatchObject([{ id: job.id, status: "in_progress" }]);
      first.kill("SIGKILL");
      await first.exited;
      vendor.finish();
      const ended = await endOf(client, job.id);
      expect(ended).toMatchObject({ status: "completed", result: { data: [{}] } });
      expect(vendor.posts).toHaveLength(1);
      expect([...s3.objects.keys()].filter((key) => key.includes(`jobs/${job.id}`))).toHaveLength(
        1,
      );
    } finally {
      s3.stop();
      await vendor.close();
    }
  });
});

testsWith(["postgresql", "redis"], import.meta.file, () => {
  const replicas: GatewayProcess[] = [];
  afterEach(async () => {
    for (const replica of replicas.splice(0)) await replica.close();
  });

  test("the budget of a job is free after its end, also if another replica has run it", async () => {
    using folder = temporaryFolder();
    const vendor = startVendor();
    const s3 = startFakeS3();
    const redis = await startRedis();
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const start = async (name: string): Promise<GatewayProcess> => {
      const own = join(folder.path, name);
      mkdirSync(own);
      const replica = await startProcess({
        folder: own,
        // An image costs 0.1.
        yaml: vendorConfig(vendor.origin).replace("total: 100", "total: 0.35"),
        env: {
          DATABASE_URL: databaseUrl,
          REDIS_URL: redis.url,
          BLOB_URL: s3.url("vexel"),
          VEXEL_SECRET: "the-secret-of-all-replicas",
          // One job at a time.
          VEXEL_MAX_IMAGE_REQUESTS: "2",
        },
      });
      replicas.push(replica);
      return replica;
    };
    try {
      const [first, second] = [await start("a"), await start("b")];
      const client = jobClient(first.url);
      const body = { model: "queued", prompt: "an otter" };
      const jobs = [await client.submit(body), await client.submit(body)];
      const third = await client.submit(body);
      await expect(client.submit(body)).rejects.toThrow("429");
      await client.cancel(third.id);
      await until(() => vendor.posts.length === 2);
      vendor.finish();
      for (const { id } of [...jobs, third]) await endOf(client, id);
      await until(async () => {
        const response = await fetch(`${second.url}/v1/images/generations`, {
          method: "POST",
          headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json" },
          body: JSON.stringify(body),
        });
        await response.text();
        return response.status === 200;
      });
    } finally {
      await redis.stop();
      s3.stop();
      await vendor.close();
    }
  });
});
