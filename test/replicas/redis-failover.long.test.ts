/** Redis as operators run it: with Sentinel, and with TLS and a user that has few rights. */
import { afterAll, expect } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import environment from "../../bin/environment.json" with { type: "json" };
import { selfSigned } from "../certificate-fixture.ts";
import { closeAfterEach } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { embeddingModel } from "../http/gateway-fixture.ts";
import { testIf, testWith } from "../programs.ts";
import { freePort } from "../storage/postgres-server.ts";
import { RedisServer, testWithRedis } from "../storage/redis-server.ts";
import { startSentinel } from "../storage/sentinel-server.ts";
import { until } from "../until.ts";
import { startLoad } from "./replica-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());
const closing = closeAfterEach();

const limitedKey = "sk-a-key-with-a-limit";
const limit = 30;

/** Gateways in processes of their own that share Redis. One of the two keys has a limit. */
async function startReplicas(folder: string, env: Readonly<Record<string, string>>) {
  const key = `  - { name: limited, key: ${limitedKey}, limits: { requestsPerMinute: ${limit} } }\n`;
  const yaml = `${configFor(fake.url)}${key}`;
  const replicas = await Promise.all(
    ["a", "b"].map((name) => {
      const own = join(folder, name);
      mkdirSync(own);
      return startProcess({ folder: own, yaml, env });
    }),
  );
  for (const replica of replicas) closing(replica);
  for (const { url } of replicas) await until(async () => (await ready(url)).replicas === 2);
  return replicas;
}

async function ready(url: string): Promise<{ redis?: string; replicas?: number }> {
  return (await fetch(`${url}/readyz`)).json() as Promise<{ redis?: string; replicas?: number }>;
}

const allHave = (replicas: readonly GatewayProcess[], redis: string) => async () =>
  (await Promise.all(replicas.map(({ url }) => ready(url)))).every((each) => each.redis === redis);

/** Sends two requests for each one that the limit allows, to both replicas. Returns how many were admitted. */
async function admitted(replicas: readonly GatewayProcess[]): Promise<number> {
  const headers = { authorization: `Bearer ${limitedKey}` };
  const body = { model: embeddingModel, input: "a text" };
  const sent = replicas.flatMap((replica) =>
    Array.from({ length: limit }, () => replica.post("/v1/embeddings", body, headers)),
  );
  const statuses = (await Promise.all(sent)).map(({ status }) => status);
  expect(statuses.every((status) => status === 200 || status === 429)).toBe(true);
  return statuses.filter((status) => status === 200).length;
}

testWithRedis(
  "when the primary of Redis fails, replicas use the one that Sentinel promotes, no client notices, and limits stay used up",
  async () => {
    using folder = temporaryFolder();
    const redis = await startSentinel(folder.path);
    const replicas = await startReplicas(folder.path, { REDIS_URL: redis.url });
    const load = startLoad(
      replicas.map(({ url }) => url),
      4,
    );
    const startedAt = performance.now();
    const refilled = () => Math.ceil((limit * (performance.now() - startedAt)) / 60_000);
    const before = await admitted(replicas);
    expect(before).toBeGreaterThanOrEqual(limit);
    expect(before).toBeLessThanOrEqual(limit + refilled());

    await until(() => redis.isReplicated());
    await redis.primary.stop();
    await until(allHave(replicas, "unavailable"));
    await until(allHave(replicas, "available"));
    expect(await redis.replica.command("ROLE")).toContain("master");
    const during = load.completed.length;
    await until(() => load.completed.length > during + 50);
    await load.stop();
    expect(load.failed).toEqual([]);
    // The promoted server knows what was used.
    expect(before + (await admitted(replicas))).toBeLessThanOrEqual(limit + refilled());
    await redis.stop();
  },
);

const mayMount =
  process.platform === "linux" && Bun.spawnSync(["unshare", "--mount", "true"]).success;

testIf(mayMount, "redis")(
  "when the name of Redis leads to another address, as that of a managed server does after a failover, replicas use it within seconds",
  async () => {
    using folder = temporaryFolder();
    const port = await freePort();
    const serverAt = (address: string): RedisServer =>
      new RedisServer(port, ["--port", String(port), "--bind", address]);
    const [earlier, next] = [serverAt("127.0.0.1"), serverAt("127.0.0.2")];
    await earlier.start();
    await next.start();
    const hosts = join(folder.path, "hosts");
    writeFileSync(hosts, "127.0.0.1 redis.test\n");
    // The gateway alone has this file of host names.
    const mounted = `mount --bind ${hosts} /etc/hosts && exec "$@"`;
    const gateway = await startProcess({
      folder: folder.path,
      yaml: configFor(fake.url),
      // As every start of the gateway has it.
      env: { ...environment, REDIS_URL: `redis://redis.test:${port}` },
      wrapper: ["unshare", "--mount", "sh", "-c", mounted, "sh"],
    });
    closing(gateway);
    await until(allHave([gateway], "available"));
    writeFileSync(hosts, "127.0.0.2 redis.test\n");
    await earlier.stop();
    await until(allHave([gateway], "unavailable"));
    const startedAt = performance.now();
    await until(allHave([gateway], "available"));
    // Bun caches names for 30 seconds unless it is configured.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    await next.stop();
  },
);

testWith("redis", "openssl")(
  "replicas share limits over TLS as a user of Redis that may use the keys and channels of Vexel only",
  async () => {
    using folder = temporaryFolder();
    selfSigned(folder.path, "IP:127.0.0.1");
    const [cert, key] = [join(folder.path, "cert.pem"), join(folder.path, "key.pem")];
    const port = await freePort();
    const server = new RedisServer(port, [
      ...["--port", "0", "--tls-port", String(port), "--tls-auth-clients", "no"],
      ...["--tls-cert-file", cert, "--tls-key-file", key],
      ..."--user default off --user vexel on >pass-word ~vexel:* &vexel:* +@all -@dangerous".split(
        " ",
      ),
    ]);
    await server.start();
    const replicas = await startReplicas(folder.path, {
      REDIS_URL: `rediss://vexel:pass-word@127.0.0.1:${port}/0`,
      NODE_EXTRA_CA_CERTS: cert,
      VEXEL_CACHE_REDIS_TTL: "60",
    });
    const startedAt = performance.now();
    const count = await admitted(replicas);
    const refilled = Math.ceil((limit * (performance.now() - startedAt)) / 60_000);
    expect(count).toBeGreaterThanOrEqual(limit);
    expect(count).toBeLessThanOrEqual(limit + refilled);
    expect(await allHave(replicas, "available")()).toBe(true);
    for (const replica of replicas) expect(replica.output()).not.toContain("redis-unavailable");
    await server.stop();
  },
);
