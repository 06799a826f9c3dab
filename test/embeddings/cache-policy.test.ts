/**
 * The cache policy of a request: `cache-control: no-cache` refreshes the embedding cache, `no-store` does without it.
 */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { cacheStage } from "../../server/embeddings/cache/cache-stage.ts";
import { EmbeddingCache } from "../../server/embeddings/cache/embedding-cache.ts";
import { SingleFlight } from "../../server/embeddings/single-flight.ts";
import { closeAfterEach } from "../clean-up.ts";
import { type Fake, startFake } from "../fake-upstream.ts";
import { startGateway, type TestGateway, testKey } from "../harness.ts";
import { until } from "../until.ts";
import { HeldUpstream, model, requestFor } from "./stage-fixture.ts";
import { embeddingResponse } from "./upstream-response.ts";

const closeAfter = closeAfterEach();

function start(settings: Record<string, string> = {}): { gateway: TestGateway; fake: Fake } {
  const fake = startFake();
  const gateway = startGateway({
    yaml: `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }
models:
  - { id: vectors, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }
keys:
  - { name: test, key: ${testKey} }
`,
    settings: { VEXEL_CACHE_BYTES: "10000000", VEXEL_BATCH_WAIT_MS: "0", ...settings },
  });
  closeAfter(fake, gateway);
  return { gateway, fake };
}

/** The first number of each vector. */
async function embed(
  { url }: TestGateway,
  input: string | readonly string[],
  cacheControl?: string,
): Promise<number[]> {
  const response = await fetch(`${url}/v1/embeddings`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${testKey}`,
      "content-type": "application/json",
      ...(cacheControl !== undefined && { "cache-control": cacheControl }),
    },
    body: JSON.stringify({ model: "vectors", input }),
  });
  expect(response.status).toBe(200);
  const { data } = (await response.json()) as { data: { embedding: number[] }[] };
  return data.map(({ embedding }) => embedding[0]!);
}

/** A response with one vector of this number. */
const responseOf = (number: number) => embeddingResponse(Array(1536).fill(number));

const inputsOf = ({ requests }: Fake): unknown[] =>
  requests.map(({ json }) => (json as { input: unknown }).input);

describe("no-cache", () => {
  test("requests a cached input from the upstream, and later requests get the new vector from the cache", async () => {
    const { gateway, fake } = start();
    fake.script(responseOf(0.25));
    expect(await embed(gateway, "a")).toEqual([0.25]);
    fake.script(responseOf(0.5));
    expect(await embed(gateway, "a", "no-cache")).toEqual([0.5]);
    expect(await embed(gateway, "a")).toEqual([0.5]);
    expect(fake.requests).toHaveLength(2);
    expect(gateway.rows().map(({ cachedInputs }) => cachedInputs)).toEqual([0, 0, 1]);
  });

  test("requests every input of a request once, duplicates included", async () => {
    const { gateway, fake } = start();
    const first = await embed(gateway, ["a", "b"]);
    expect(await embed(gateway, ["b", "c", "b"], "max-age=0, No-Cache")).toHaveLength(3);
    expect(inputsOf(fake)).toEqual([
      ["a", "b"],
      ["b", "c"],
    ]);
    expect(await embed(gateway, ["a", "b", "c"])).toEqual([...first, expect.any(Number)]);
    expect(fake.requests).toHaveLength(2);
  });

  test("does not wait for an upstream request that is already in flight", async () => {
    const { gateway, fake } = start();
    const { promise, resolve } = Promise.withResolvers<void>();
    fake.script({ until: promise });
    const first = embed(gateway, "a");
    await fake.arrived(1);
    await embed(gateway, "a", "no-cache");
    expect(fake.requests).toHaveLength(2);
    resolve();
    await first;
  });
});

describe("no-store", () => {
  test("neither reads the cache nor stores in it", async () => {
    const { gateway, fake } = start();
    fake.script(responseOf(0.25));
    expect(await embed(gateway, "a")).toEqual([0.25]);
    fake.script(responseOf(0.5));
    expect(await embed(gateway, "a", "no-store")).toEqual([0.5]);
    expect(await embed(gateway, "a")).toEqual([0.25]);
    await embed(gateway, "b", "no-cache, no-store");
    await embed(gateway, "b");
    expect(inputsOf(fake)).toHaveLength(4);
    expect(gateway.rows().map(({ cachedInputs }) => cachedInputs)).toEqual([0, 0, 1, 0, 0]);
  });

  test("shares no upstream request with others", async () => {
    const { gateway, fake } = start();
    const { promise, resolve } = Promise.withResolvers<void>();
    fake.script({ until: promise }, { times: 3 });
    const requests = [embed(gateway, "a", "no-store")];
    await fake.arrived(1);
    requests.push(embed(gateway, "a"));
    await fake.arrived(2);
    requests.push(embed(gateway, "a", "no-store"));
    await fake.arrived(3);
    resolve();
    await Promise.all(requests);
  });

  test("leaves nothing in the persisted cache", async () => {
    const { gateway, fake } = start({ VEXEL_CACHE_PERSIST: "disk" });
    await embed(gateway, ["secret 1", "secret 2"], "no-store");
    await embed(gateway, ["public"]);
    const rows = (): number => {
      const db = new Database(join(gateway.folder, "vectors.db"), { readonly: true });
      const found = db.query("SELECT count(*) AS rows FROM vectors").get() as { rows: number };
      db.close();
      return found.rows;
    };
    await until(() => rows() > 0);
    expect(rows()).toBe(1);
    expect(fake.requests).toHaveLength(2);
  });
});

test("other directives do not disable the cache", async () => {
  const { gateway, fake } = start();
  await embed(gateway, "a");
  for (const header of ["max-age=0", "no-transform", "", "no-cachet"]) {
    await embed(gateway, "a", header);
  }
  expect(fake.requests).toHaveLength(1);
});

test("a refresh replaces the persisted and shared vectors", async () => {
  const calls: string[] = [];
  const upstream = new HeldUpstream();
  const cache = new EmbeddingCache({
    maxBytes: 1e6,
    persistence: {
      add: () => calls.push("add"),
      touch: () => undefined,
      clear: async () => undefined,
    },
  });
  const send = cacheStage({
    cache,
    singleFlight: new SingleFlight(),
    shared: { get: () => undefined },
    enabled: () => true,
  })(upstream.next);
  for (const policy of ["use", "refresh"] as const) {
    const request = requestFor(["a", "b"], model);
    request.record.cachePolicy = policy;
    const response = send(request);
    await upstream.respondToAll();
    await response;
  }
  expect(calls).toEqual(["add", "add", "add", "add"]);
});
