/** The console shows all replicas, whichever of them responds. */
import { afterAll, expect } from "bun:test";
import type { Page, ShownReplica, ShownTarget, Statistics } from "../../contract/admin.ts";
import { version } from "../../package.json";
import { startFake } from "../fake-upstream.ts";
import { type GatewayProcess, temporaryFolder } from "../harness.ts";
import { testWith } from "../programs.ts";
import { sharedPostgres } from "../storage/postgres-server.ts";
import { startRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";
import { replicaStarter } from "./replica-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());
const start = replicaStarter(fake.url);
const token = "admin-token-0123456789";

const read = async <T>({ url }: GatewayProcess, path: string): Promise<T> => {
  const response = await fetch(`${url}/admin/api${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.status).toBe(200);
  return (await response.json()) as T;
};

const replicasAt = async (gateway: GatewayProcess): Promise<readonly ShownReplica[]> =>
  (await read<Page<ShownReplica>>(gateway, "/replicas")).data;

/** The text of the live tail so far. */
async function followLive({ url }: GatewayProcess) {
  const closing = new AbortController();
  const response = await fetch(`${url}/admin/api/requests/live`, {
    headers: { authorization: `Bearer ${token}` },
    signal: closing.signal,
  });
  expect(response.status).toBe(200);
  let text = "";
  const reading = (async () => {
    for await (const chunk of response.body ?? []) text += new TextDecoder().decode(chunk);
  })().catch(() => undefined);
  return {
    text: () => text,
    [Symbol.asyncDispose]: () => {
      closing.abort();
      return reading;
    },
  };
}

testWith("postgresql", "redis")(
  "every replica lists all of them, shows the same figures and the requests of all as they end, and routes by what it has seen itself",
  async () => {
    using folder = temporaryFolder();
    const redis = await startRedis();
    await using resources = new AsyncDisposableStack();
    resources.defer(() => redis.stop());
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const env = {
      REDIS_URL: redis.url,
      VEXEL_ADMIN_TOKEN: token,
      VEXEL_CACHE_BYTES: "1048576",
      VEXEL_CACHE_REDIS_TTL: "0",
    };
    const [a, b] = await Promise.all(
      ["a", "b"].map((name) => start({ folder: folder.path, name, databaseUrl, env })),
    );
    if (!a || !b) throw new Error("two replicas were started");
    const embed = (gateway: GatewayProcess, input: string) =>
      gateway.post("/v1/embeddings", { model: "text-embedding-3-small", input });
    const idOf = async (gateway: GatewayProcess): Promise<string> =>
      (await fetch(`${gateway.url}/healthz`)).headers.get("vexel-replica") ?? "";
    const ids = [await idOf(a), await idOf(b)];
    for (const gateway of [a, b]) {
      await until(async () => (await replicasAt(gateway)).length === 2);
      const shown = await replicasAt(gateway);
      expect(shown.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
      for (const each of shown)
        expect(each).toMatchObject({
          version,
          ready: true,
          database: "available",
          redis: "available",
          object_store: null,
          unhealthy_targets: [],
        });
    }
    // A cached vector in each: both replicas show two.
    for (const gateway of [a, b]) expect((await embed(gateway, "otter")).status).toBe(200);
    for (const gateway of [a, b])
      await until(async () => (await read<Statistics>(gateway, "/statistics")).cache.entries === 2);
    // The upstream refuses the credential of the first replica.
    fake.script({ response: { status: 401, body: "{}" } }, { times: 1 });
    expect((await embed(a, "boat")).status).toBeGreaterThanOrEqual(400);
    const statesAt = async (gateway: GatewayProcess) =>
      (await read<Page<ShownTarget>>(gateway, "/targets")).data.map(({ state }) => state);
    for (const gateway of [a, b])
      await until(async () => (await statesAt(gateway)).some((state) => state !== "healthy"));
    const unhealthy = (await replicasAt(b)).filter((each) => each.unhealthy_targets.length > 0);
    expect(unhealthy.map(({ id }) => id)).toEqual([ids[0] ?? ""]);
    const before = fake.requests.length;
    expect((await embed(b, "a boat of the second replica")).status).toBe(200);
    expect(fake.requests.length - before).toBe(1);
    // A request of the first replica, in the live tail of the second.
    await using stream = await followLive(b);
    const sent: string[] = [];
    await until(async () => {
      const { headers } = await embed(a, `a live text ${sent.length}`);
      sent.push(headers.get("x-request-id") ?? "");
      return sent.some((id) => stream.text().includes(id));
    });
    // A replica that leaves is not shown any more.
    a.kill("SIGTERM");
    await a.exited;
    await until(async () => (await replicasAt(b)).length === 1);
  },
);
