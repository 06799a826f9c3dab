/** The connection to Redis survives restarts, a flush, a server that does not respond, and bad certificates. */
import { afterAll, expect } from "bun:test";
import { join } from "node:path";
import {
  RedisConnection,
  type RedisOptions,
  RedisUnavailableError,
  redisScript,
} from "../../server/storage/redis/client.ts";
import { watchConfigNotices } from "../../server/storage/redis/config-notices.ts";
import { selfSigned } from "../certificate-fixture.ts";
import { openTcpProxy } from "../fake-upstream/tcp-proxy.ts";
import { temporaryFolder } from "../harness.ts";
import { beforeAllWith, testWith } from "../programs.ts";
import { until } from "../until.ts";
import { freePort } from "./postgres-server.ts";
import { RedisServer, startRedis, testWithRedis } from "./redis-server.ts";

let server: RedisServer;
beforeAllWith(["redis"], async () => {
  server = await startRedis();
});
afterAll(() => server?.stop());

const open = (options: Partial<RedisOptions> = {}): RedisConnection =>
  new RedisConnection({ url: server.url, ...options });

const script = redisScript("return {KEYS[1], ARGV[1], tonumber(ARGV[2]) + 1}");
const evaluate = (redis: RedisConnection): Promise<unknown> =>
  redis.evaluate(script, ["key"], ["text", 1]);

testWithRedis(
  "after a restart or a flush of Redis, scripts are loaded again and commands succeed",
  async () => {
    const redis = open();
    const changes: boolean[] = [];
    redis.onChange(({ isAvailable }) => changes.push(isAvailable));
    await redis.attempted();
    expect(await evaluate(redis)).toEqual(["key", "text", 2]);
    await server.command("SCRIPT", "FLUSH");
    expect(await evaluate(redis)).toEqual(["key", "text", 2]);
    await server.stop();
    await until(() => !redis.isAvailable);
    await expect(evaluate(redis)).rejects.toThrow(RedisUnavailableError);
    await server.start();
    await until(() => redis.isAvailable);
    expect(await evaluate(redis)).toEqual(["key", "text", 2]);
    expect(changes).toEqual([true, false, true]);
    redis.close();
  },
);

testWithRedis("the commands of one turn of the event loop share one write", async () => {
  const redis = open();
  await redis.attempted();
  const reads = async (): Promise<number> => {
    const stats = String(await server.command("INFO", "stats"));
    return Number(/total_reads_processed:(\d+)/.exec(stats)?.[1]);
  };
  const before = await reads();
  const sent = Array.from({ length: 50 }, (_, at) => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    // A callback of its own, as each request of a client has.
    setTimeout(() => resolve(redis.run((client) => client.send("ECHO", [String(at)]))), 1);
    return promise;
  });
  expect(await Promise.all(sent)).toEqual(sent.map((_, at) => String(at)));
  expect((await reads()) - before).toBeLessThan(10);
  redis.close();
});

testWithRedis(
  "a server that does not respond is unavailable after the timeout, and is used again when it responds",
  async () => {
    const redis = open({ timeoutMs: 100 });
    await redis.attempted();
    server.pause();
    await expect(evaluate(redis)).rejects.toThrow("no response within 100 ms");
    expect(redis.isAvailable).toBe(false);
    server.resume();
    await until(() => redis.isAvailable);
    redis.close();
  },
);

testWithRedis("a server that refuses writes is unavailable, and says why", async () => {
  const redis = open();
  await redis.attempted();
  await server.command("CONFIG", "SET", "maxmemory", "1");
  await expect(redis.run((client) => client.send("SET", ["key", "value"]))).rejects.toThrow(
    RedisUnavailableError,
  );
  await until(() => !redis.isAvailable);
  expect(redis.state).toMatchObject({ reason: expect.stringContaining("OOM") });
  await server.command("CONFIG", "SET", "maxmemory", "0");
  await until(() => redis.isAvailable);
  redis.close();
});

testWithRedis(
  "a primary that becomes a replica is left, and the new primary behind the same address is used",
  async () => {
    const [earlier, next] = [await startRedis(), await startRedis()];
    const proxy = openTcpProxy(earlier.port);
    const redis = open({ url: `redis://127.0.0.1:${proxy.port}` });
    await redis.attempted();
    await earlier.command("REPLICAOF", "127.0.0.1", String(next.port));
    await expect(redis.run((client) => client.send("SET", ["key", "value"]))).rejects.toThrow(
      "READONLY",
    );
    // The new primary is not used before the address leads to it.
    await expect(evaluate(redis)).rejects.toThrow(RedisUnavailableError);
    proxy.switchTo(next.port);
    await until(() => redis.isAvailable);
    expect(await evaluate(redis)).toEqual(["key", "text", 2]);
    redis.close();
    proxy.close();
    await Promise.all([earlier.stop(), next.stop()]);
  },
);

testWithRedis(
  "a notice of a changed configuration reaches every replica, and a reconnection counts as one",
  async () => {
    const connections = [open(), open()];
    const calls = connections.map(() => 0);
    const notices = connections.map((redis, at) =>
      watchConfigNotices(redis, async () => {
        calls[at] = (calls[at] ?? 0) + 1;
        throw new Error("the database is unreachable");
      }),
    );
    await until(() => calls.every((count) => count === 1));
    await Promise.all(connections.map((redis) => redis.attempted()));
    notices[0]?.publish();
    await until(() => calls.every((count) => count === 2));
    await server.stop();
    await server.start();
    await until(() => calls.every((count) => count >= 3));
    for (const each of [...notices, ...connections]) each.close();
  },
);

testWith("redis", "openssl")(
  "a password and TLS work, and an invalid certificate is refused with a reason that names what to check",
  async () => {
    using folder = temporaryFolder();
    selfSigned(folder.path, "IP:127.0.0.1");
    const [cert, key] = [join(folder.path, "cert.pem"), join(folder.path, "key.pem")];
    const port = await freePort();
    const tls = ["--tls-port", String(port), "--tls-cert-file", cert, "--tls-key-file", key];
    const access = ["--port", "0", "--tls-auth-clients", "no", "--requirepass", "secret"];
    const secured = new RedisServer(port, [...tls, ...access]);
    await secured.start();
    const url = `rediss://:secret@127.0.0.1:${port}/0`;
    const redis = open({ url });
    await redis.attempted();
    expect(redis.state).toMatchObject({
      isAvailable: false,
      reason: expect.stringContaining("check the address, the user and the password, and TLS"),
    });
    expect(JSON.stringify(redis.state)).not.toContain("secret");
    redis.close();
    const program = `
    const { RedisConnection } = await import(${JSON.stringify(join(import.meta.dir, "../../server/storage/redis/client.ts"))});
    const redis = new RedisConnection({ url: ${JSON.stringify(url)}, timeoutMs: 10_000 });
    await redis.attempted();
    console.log(JSON.stringify(redis.state));
    redis.close();`;
    const trusting = Bun.spawn([process.execPath, "-e", program], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: cert },
    });
    expect(JSON.parse(await new Response(trusting.stdout).text())).toEqual({ isAvailable: true });
    await secured.stop();
  },
);
