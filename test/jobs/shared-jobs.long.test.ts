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

const replicas: GatewayProcess[] = [];
afterEach(async () => {
  for (const replica of replicas.splice(0)) await replica.close();
});

/** Starts a replica with a data folder of its own. */
async function startReplica(
  folder: string,
  yaml: string,
  env: Readonly<Record<string, string>>,
): Promise<GatewayProcess> {
  mkdirSync(folder);
  const secret = { VEXEL_SECRET: "the-secret-of-all-replicas" };
  const replica = await startProcess({ folder, yaml, env: { ...secret, ...env } });
  replicas.push(replica);
  return replica;
}

testsWith(["postgresql"], import.meta.file, () => {
  test("a job of one replica is read at another, which goes on with it when the first is killed", async () => {
    using folder = temporaryFolder();
    const vendor = startVendor();
    const s3 = startFakeS3();
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const env = { DATABASE_URL: databaseUrl, BLOB_URL: s3.url("vexel") };
    const start = (name: string) =>
      startReplica(join(folder.path, name), vendorConfig(vendor.origin), env);
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

  test("an image in flight is delivered after an outage of the database that is longer than a lease", async () => {
    using folder = temporaryFolder();
    const vendor = startVendor();
    const s3 = startFakeS3();
    const database = await sharedPostgres();
    const env = { DATABASE_URL: await database.createDatabase(), BLOB_URL: s3.url("vexel") };
    const start = (name: string) =>
      startReplica(join(folder.path, name), vendorConfig(vendor.origin), env);
    try {
      const client = jobClient((await start("a")).url);
      await start("b");
      const job = await client.submit({ model: "direct", prompt: "an otter" });
      await until(() => vendor.posts.length === 1);
      await database.stop();
      await Bun.sleep(25_000);
      await database.start();
      // Both replicas look for expired leases meanwhile.
      await Bun.sleep(10_000);
      vendor.finish();
      const ended = await endOf(client, job.id);
      expect(ended).toMatchObject({ status: "completed", error: null, result: { data: [{}] } });
      expect(vendor.posts).toHaveLength(1);
    } finally {
      s3.stop();
      await vendor.close();
    }
  });
});

testsWith(["postgresql", "redis"], import.meta.file, () => {
  test("the budget of a job is free after its end, also if another replica has run it", async () => {
    using folder = temporaryFolder();
    const vendor = startVendor();
    const s3 = startFakeS3();
    const redis = await startRedis();
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    // An image costs 0.1.
    const yaml = vendorConfig(vendor.origin).replace("total: 100", "total: 0.35");
    const env = {
      DATABASE_URL: databaseUrl,
      REDIS_URL: redis.url,
      BLOB_URL: s3.url("vexel"),
      // One job at a time.
      VEXEL_MAX_IMAGE_REQUESTS: "2",
    };
    const start = (name: string) => startReplica(join(folder.path, name), yaml, env);
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
