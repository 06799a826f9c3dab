/** Limits, budgets and usage of end users and tags are exact over two replicas. */
import { afterAll, expect } from "bun:test";
import type { UsagePage } from "../../contract/admin.ts";
import { closeAfterEach } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { type GatewayProcess, temporaryFolder } from "../harness.ts";
import { embeddingModel } from "../http/gateway-fixture.ts";
import { testWith } from "../programs.ts";
import { sharedPostgres } from "../storage/postgres-server.ts";
import { startRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";
import { replicaStarter } from "./replica-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());
const start = replicaStarter(fake.url);
const closing = closeAfterEach();

const token = "admin-token-of-end-user-and-tag-limits";
/** An image of dall-e-3 costs four cents. */
const imageCost = 0.04;
const images = 4;
const perMinute = 10;

const limited = {
  limits: { requestsPerMinute: perMinute },
  budget: { month: images * imageCost },
};
const project = { name: "shop", perEndUser: limited, perTag: { "customer:*": limited } };

/** An end user, or a tag. */
type EndUserOrTag = { readonly endUser: string } | { readonly tag: string };

const endUsers = (name: string): EndUserOrTag[] =>
  [1, 2].map((at) => ({ endUser: `${name}${at}` }));
const customers = (name: string): EndUserOrTag[] => [{ tag: `customer:${name}` }];

const textOf = (endUserOrTag: EndUserOrTag): string =>
  "tag" in endUserOrTag ? endUserOrTag.tag : endUserOrTag.endUser;

class Replicas {
  readonly replicas: GatewayProcess[] = [];
  /** The statuses of all responses. */
  readonly statuses = new Map<string, number[]>();
  key = "";

  async admin<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(`${this.replicas[0]?.url}/admin/api${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Sends a request to one of the replicas. */
  async send(
    at: number,
    endUserOrTag: EndUserOrTag,
    path: string,
    body: object,
  ): Promise<Response> {
    const response = await fetch(`${this.replicas[at % this.replicas.length]?.url}/v1${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${this.key}`,
        "content-type": "application/json",
        ...("tag" in endUserOrTag && { "vexel-tags": endUserOrTag.tag }),
      },
      body: JSON.stringify({
        ...body,
        ...("endUser" in endUserOrTag && { user: endUserOrTag.endUser }),
      }),
    });
    await response.arrayBuffer();
    const statuses = this.statuses.get(textOf(endUserOrTag)) ?? [];
    statuses.push(response.status);
    this.statuses.set(textOf(endUserOrTag), statuses);
    return response;
  }

  embed(at: number, endUserOrTag: EndUserOrTag): Promise<Response> {
    return this.send(at, endUserOrTag, "/embeddings", {
      model: embeddingModel,
      input: `text ${at}`,
    });
  }

  generate(at: number, endUserOrTag: EndUserOrTag): Promise<Response> {
    const prompt = `an otter ${crypto.randomUUID()}`;
    return this.send(at, endUserOrTag, "/images/generations", { model: "dall-e-3", prompt });
  }

  served(endUserOrTag: EndUserOrTag): number {
    return this.statuses.get(textOf(endUserOrTag))?.filter((status) => status === 200).length ?? 0;
  }

  /** Clients that generate images until the budget is spent. */
  async spend(endUserOrTag: EndUserOrTag, clients: number): Promise<void> {
    const run = async (client: number): Promise<void> => {
      for (let at = client; !isSpent(await this.generate(at, endUserOrTag)); at++)
        await Bun.sleep(50);
    };
    await Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
  }
}

/** Refused until the month ends, and not because of a rate limit or of reservations. */
const isSpent = ({ status, headers }: Response): boolean =>
  status === 429 && headers.get("retry-after") === null;

async function startReplicas(folder: string) {
  const [postgres, redis] = await Promise.all([sharedPostgres(), startRedis()]);
  closing({ close: () => redis.stop() });
  const databaseUrl = await postgres.createDatabase();
  const env = { REDIS_URL: redis.url, VEXEL_ADMIN_TOKEN: token, VEXEL_BATCH_WAIT_MS: "0" };
  const startOne = (name: string) => start({ folder, name, databaseUrl, env });
  const running = new Replicas();
  for (const name of ["a", "b"]) running.replicas.push(await startOne(name));
  await running.admin("POST", "/projects", project);
  const body = { name: "shop key", project: "shop" };
  running.key = (await running.admin<{ key: string }>("POST", "/keys", body)).key;
  for (const at of running.replicas.keys())
    await until(async () => {
      const { headers } = await running.embed(at, { endUser: "first" });
      return headers.get("x-ratelimit-limit-requests") === String(perMinute);
    });
  return { running, redis, startOne };
}

testWith("redis", "postgresql")(
  "clients of two replicas use limits and budgets of end users and tags, and never exceed them",
  async () => {
    using folder = temporaryFolder();
    const { running, redis, startOne } = await startReplicas(folder.path);

    // Twice as many requests as are allowed, at the same time at all replicas.
    const frequent = [...endUsers("frequent"), ...customers("frequent")];
    const from = performance.now();
    const attempts = frequent.flatMap((endUserOrTag) =>
      Array.from({ length: 2 * perMinute }, (_, at) => running.embed(at, endUserOrTag)),
    );
    await Promise.all(attempts);
    const refilled = ((performance.now() - from) * perMinute) / 60_000;
    for (const endUserOrTag of frequent) {
      expect(running.served(endUserOrTag)).toBeGreaterThanOrEqual(perMinute);
      expect(running.served(endUserOrTag)).toBeLessThanOrEqual(perMinute + refilled);
    }

    const spending = [...endUsers("buyer"), ...customers("buyer")];
    await Promise.all(spending.map((endUserOrTag) => running.spend(endUserOrTag, 4)));
    expect(spending.map((endUserOrTag) => running.served(endUserOrTag))).toEqual(
      spending.map(() => images),
    );

    // Usage has every request and every cent.
    const usageOf = async (endUserOrTag: EndUserOrTag) => {
      const filter =
        "tag" in endUserOrTag ? `tag=${endUserOrTag.tag}` : `end_user=${endUserOrTag.endUser}`;
      const { data } = await running.admin<UsagePage>("GET", `/usage?interval=total&${filter}`);
      return { requests: data[0]?.requests, cost: data[0]?.cost.toFixed(9) };
    };
    for (const endUserOrTag of [...spending, ...frequent]) {
      const requests = running.statuses.get(textOf(endUserOrTag))?.length;
      await until(async () => (await usageOf(endUserOrTag)).requests === requests);
    }
    for (const endUserOrTag of spending)
      expect((await usageOf(endUserOrTag)).cost).toBe((images * imageCost).toFixed(9));

    // Redis loses everything, and a replica knows only what the database has.
    await redis.stop();
    await redis.start();
    await running.replicas[0]?.close();
    running.replicas[0] = await startOne("a");
    await until(async () => {
      const response = await fetch(`${running.replicas[0]?.url}/readyz`);
      const { redis: state, replicas } = (await response.json()) as Record<string, unknown>;
      return state === "available" && replicas === 2;
    });
    for (const endUserOrTag of spending)
      for (const at of running.replicas.keys())
        expect((await running.generate(at, endUserOrTag)).status).toBe(429);
  },
);
