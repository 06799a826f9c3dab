/**
 * Images of embeddings requests while other things happen: failures, disconnects, micro-batches. No file stays open.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readlinkSync } from "node:fs";
import { type TestGateway, testKey } from "../harness.ts";
import { until } from "../until.ts";
import {
  dataUrl,
  type EmbeddingsBody,
  type FakeCohere,
  imagePart,
  png,
  startCohere,
  startImageGateway,
  vectorOf,
} from "./multimodal-fixture.ts";

let cohere: FakeCohere;
let other: FakeCohere;
let gateway: TestGateway;
beforeAll(() => {
  cohere = startCohere();
  other = startCohere();
  gateway = startImageGateway(cohere, {
    upstreams: `  - { id: failing, kind: cohere, baseUrl: "${other.url}", apiKey: co-fake }`,
    models: `  - { id: two, kind: embedding, dimensions: 8, targets: [{ upstream: failing, model: embed-v4.0 }, { upstream: cohere, model: embed-v4.0, tier: 1 }] }`,
  });
});
afterAll(async () => {
  await gateway.close();
  await cohere[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

/** Larger than what is kept in memory. */
const large = (shade: number) => png(shade, { padding: 600_000 });

const embed = (image: Uint8Array, model = "images", signal?: AbortSignal) =>
  fetch(`${gateway.baseURL}/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model, input: { image: dataUrl(image) } }),
    ...(signal && { signal }),
  });

const vectorIn = async (response: Response): Promise<unknown> =>
  ((await response.json()) as EmbeddingsBody).data[0]?.embedding;

/** Unlinked temp files that this process has open. */
const openFiles = (): number =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).includes("/temp-");
    } catch {
      return false;
    }
  }).length;

test("after a failure, another target of the same vector space gets the same image", async () => {
  other.fail(500);
  const image = large(1);
  const response = await embed(image, "two");
  expect(await vectorIn(response)).toEqual(vectorOf([imagePart(image)]));
  expect(other.requests.length).toBeGreaterThan(0);
});

test("a client gets the vector of an image whose first client has disconnected", async () => {
  const image = large(2);
  const { promise, resolve } = Promise.withResolvers<void>();
  cohere.hold(promise);
  const before = cohere.requests.length;
  const leaving = new AbortController();
  const first = embed(image, "images", leaving.signal).catch(() => undefined);
  await until(() => cohere.requests.length > before);
  const second = embed(image);
  // The turns of other requests let the second one read its image, and wait for the first.
  await until(() => gateway.inFlight() === 2);
  for (let turn = 0; turn < 100; turn++) await (await fetch(`${gateway.url}/healthz`)).text();
  leaving.abort();
  await first;
  resolve();
  cohere.hold(undefined);
  expect(await vectorIn(await second)).toEqual(vectorOf([imagePart(image)]));
});

test("small images of several clients share an upstream request, and each client gets its own vector", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  cohere.hold(promise);
  const before = cohere.requests.length;
  // Four requests in flight make the target busy; the others wait for a micro-batch.
  const images = Array.from({ length: 16 }, (_, at) => png(100 + at));
  const responses = images.map((image) => embed(image));
  await until(() => gateway.inFlight() === 16);
  resolve();
  cohere.hold(undefined);
  const vectors = await Promise.all(responses.map(async (response) => vectorIn(await response)));
  expect(vectors).toEqual(images.map((image) => vectorOf([imagePart(image)])));
  const sizes = cohere.requests.slice(before).map(({ inputs }) => inputs?.length ?? 0);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(16);
  expect(Math.max(...sizes)).toBeGreaterThan(1);
});

test("no file of an image stays open after its request, whatever its end", async () => {
  const responses = await Promise.all([
    embed(large(5)),
    embed(large(6)),
    embed(large(7), "images-v3"),
    embed(large(8), "texts"),
    embed(png(9, { claimed: [65_535, 65_535], padding: 600_000 })),
  ]);
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 400, 400]);
  await until(() => gateway.inFlight() === 0 && openFiles() === 0);
});
