/** A replica that is stopped while it generates an image: the image is not generated again by another one. */
import { expect } from "bun:test";
import { startFakeS3 } from "../fake-s3.ts";
import { testWith } from "../programs.ts";
import { sharedPostgres } from "../storage/postgres-server.ts";
import { startRedis, testWithRedis } from "../storage/redis-server.ts";
import { drain, generate, imageGateways, read, stopAtOnce } from "./drained-images-fixture.ts";

const { fake, start, paid, generateAndDisconnect } = imageGateways();

testWith("postgresql", "redis")(
  "an image that takes longer than VEXEL_DRAIN_TIMEOUT is replayed by another replica to a client that has disconnected, and generated once",
  async () => {
    const redis = await startRedis();
    const DATABASE_URL = await (await sharedPostgres()).createDatabase();
    const s3 = startFakeS3();
    const shared = { REDIS_URL: redis.url, DATABASE_URL, BLOB_URL: s3.url("drained") };
    const env = { ...shared, VEXEL_SECRET: "k".repeat(32) };
    const [one, two] = [await start("one", env), await start("two", env)];
    const release = Promise.withResolvers<void>();
    fake.script({ until: release.promise });
    await generateAndDisconnect(one);
    const waiting = generate(two).then(read);
    await drain(one);
    release.resolve();
    expect(await one.exited).toBe(0);
    const { status, text } = await waiting;
    expect(status).toBe(200);
    expect(text).toContain('"b64_json":"');
    expect(await read(await generate(two))).toMatchObject({ status: 200, text });
    expect(paid()).toBe(1);
    await s3.stop();
    await redis.stop();
  },
);

testWithRedis(
  "an image that a second signal ends is not generated again by a retry on another replica",
  async () => {
    const redis = await startRedis();
    try {
      const env = { REDIS_URL: redis.url };
      const [one, two] = [await start("one", env), await start("two", env)];
      fake.script({ hang: "headers" }, { times: 9 });
      const first = generate(one).then(read);
      await fake.arrived(1);
      // Waits for the first one.
      const waiting = generate(two).then(read);
      await stopAtOnce(one);
      expect(await first).toMatchObject({ status: 503, code: "shutting_down" });
      expect(await waiting).toMatchObject({ status: 503, shouldRetry: "false" });
      expect(await read(await generate(two))).toMatchObject({ status: 503, shouldRetry: "false" });
      expect(paid()).toBe(1);
    } finally {
      await redis.stop();
    }
  },
);
