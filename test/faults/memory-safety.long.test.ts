/**
 * Memory safety: whatever other clients do at the same time, every client gets its own vectors and images, byte for
 * byte.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startGateway, type TestGateway, testKey } from "../harness.ts";
import { until } from "../until.ts";
import {
  imageOf,
  ollamaLength,
  openaiLength,
  partial,
  startUpstream,
  vectorOf,
} from "./memory-safety-upstream.ts";
import { type Behavior, type RawResponse, sendPipelined, sendRaw } from "./raw-client.ts";

const concurrentRequests = 2000;
/** Far more texts than the cache holds. */
const distinctTexts = 500;
/** About 70 vectors of OpenAI's length. */
const cacheBytes = 500_000;

const behaviors: readonly Behavior[] = [
  ...Array<Behavior>(7).fill("read"),
  ...Array<Behavior>(7).fill("read slowly"),
  "disconnect during the upload",
  "disconnect before the response",
  "disconnect at the first byte",
  "disconnect during the response",
] as Behavior[];

/** A small linear congruential generator: the same requests in every run. */
function randomOf(seed: number): (max: number) => number {
  let state = seed;
  return (max) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * max);
  };
}

interface Plan {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
  readonly behavior: Behavior;
  readonly pauseMs: number;
  /** Throws if the response is not the one for the client's request. */
  check(response: RawResponse): void | Promise<void>;
}

type Random = ReturnType<typeof randomOf>;

const pick = <T>(random: Random, list: readonly T[]): T => list[random(list.length)] as T;

function planOf(random: Random, number: number): Plan {
  const common = { behavior: pick(random, behaviors), pauseMs: 1 + random(8) };
  return random(10) === 0
    ? { ...common, ...imagePlan(`image ${number}`, pick(random, imageModes)) }
    : { ...common, ...embeddingsPlan(random) };
}

interface ImageMode {
  readonly name: string;
  readonly body: object;
  check(body: string, prompt: string): void | Promise<void>;
}

/** How an image comes from the upstream, and how it goes to the client. */
const imageModes: readonly ImageMode[] = [
  { name: "whole", body: { model: "images" }, check: expectImage },
  {
    name: "streamed",
    body: { model: "images", stream: true, partial_images: 1 },
    check: (body, prompt) => expectEvents(body, [partial + prompt, prompt]),
  },
  { name: "as a link", body: { model: "images", response_format: "url" }, check: expectLink },
  {
    name: "downloaded",
    body: { model: "links", response_format: "b64_json" },
    check: expectImage,
  },
  {
    name: "downloaded, as a stream",
    body: { model: "links", stream: true },
    check: (body, prompt) => expectEvents(body, [prompt]),
  },
  {
    name: "downloaded, as a link",
    body: { model: "links", response_format: "url" },
    check: expectLink,
  },
];
/** How many responses of each mode were compared. */
const checkedModes = new Map<string, number>();

const imagePlan = (prompt: string, mode: ImageMode) => ({
  path: "/v1/images/generations",
  headers: {},
  body: { ...mode.body, prompt },
  check: async ({ status, body }: RawResponse): Promise<void> => {
    expect(status, body.toString("latin1", 0, 300)).toBe(200);
    await mode.check(body.toString(), prompt);
    checkedModes.set(mode.name, (checkedModes.get(mode.name) ?? 0) + 1);
  },
});

// Not `toBe(image)`: a failure would print hundreds of thousands of characters.
const expectBase64 = (base64: string, prompt: string): void =>
  expect(base64 === imageOf(prompt).toString("base64"), prompt).toBe(true);

function expectImage(body: string, prompt: string): void {
  const { data } = JSON.parse(body) as { data: [{ b64_json: string }] };
  expectBase64(data[0].b64_json, prompt);
}

/** Comments, which are heartbeats, are left out. */
function expectEvents(body: string, prompts: readonly string[]): void {
  const data = body.split("\n").filter((line) => line.startsWith("data: "));
  const images = data.map((line) => (JSON.parse(line.slice(6)) as { b64_json: string }).b64_json);
  expect(images).toHaveLength(prompts.length);
  for (const [at, prompt] of prompts.entries()) expectBase64(images[at] ?? "", prompt);
}

/** One client disconnects while it reads the image, another reads it slowly. */
async function expectLink(body: string, prompt: string): Promise<void> {
  const { data } = JSON.parse(body) as { data: [{ url: string }] };
  const { host, pathname, search } = new URL(data[0].url);
  expect(host).toBe("gateway");
  const get = (behavior: Behavior) =>
    sendRaw({
      port: Number(new URL(gateway.url).port),
      method: "GET",
      path: pathname + search,
      headers: {},
      body: "",
      behavior,
      pauseMs: 2,
      onSent: () => undefined,
    });
  const [image] = await Promise.all([get("read slowly"), get("disconnect during the response")]);
  expect(image?.status).toBe(200);
  expect(image?.body.equals(imageOf(prompt)), prompt).toBe(true);
}

function embeddingsPlan(random: Random) {
  const count = random(10) === 0 ? 24 : 1 + random(4);
  const texts = Array.from({ length: count }, () => `text ${random(distinctTexts)}`);
  const model = pick(random, ["openai", "ollama"]);
  const encoding = pick(random, ["float", "base64"]);
  const cacheControl = pick(random, [undefined, undefined, undefined, "no-cache", "no-store"]);
  const headers = {
    ...(cacheControl && { "cache-control": cacheControl }),
    ...(random(4) === 0 && { "vexel-priority": "batch" }),
  };
  return { ...embeddingsRequest(texts, model, encoding), headers };
}

function embeddingsRequest(texts: readonly string[], model: string, encoding: string) {
  return {
    path: "/v1/embeddings",
    headers: {},
    body: { model, input: texts, encoding_format: encoding },
    check: ({ status, body }: RawResponse): void => {
      expect(status, body.toString("latin1", 0, 300)).toBe(200);
      const { data } = JSON.parse(body.toString()) as {
        data: { index: number; embedding: string | number[] }[];
      };
      expect(data.map(({ index }) => index)).toEqual(texts.map((_, at) => at));
      for (const [at, { embedding }] of data.entries()) {
        const length = model === "openai" ? openaiLength : ollamaLength;
        const expected = vectorOf(texts[at] as string, length).base64;
        const received =
          typeof embedding === "string"
            ? embedding
            : Buffer.from(Float32Array.from(embedding).buffer).toString("base64");
        // Not `toBe(expected)`: a failure would print thousands of characters.
        expect(received === expected, `${model} ${encoding}: vector of "${texts[at]}"`).toBe(true);
      }
    },
  };
}

let gateway: TestGateway;
let upstream: ReturnType<typeof startUpstream>;
const gate = Promise.withResolvers<void>();

beforeAll(() => {
  upstream = startUpstream(gate.promise);
  gateway = startGateway({
    logLevel: "warn",
    settings: {
      VEXEL_CACHE_BYTES: String(cacheBytes),
      VEXEL_MAX_CONCURRENT: "5000",
      VEXEL_MAX_IMAGE_REQUESTS: "1000",
      VEXEL_EMBEDDINGS_TIMEOUT: "600",
      VEXEL_IMAGES_TIMEOUT: "600",
    },
    yaml: `
upstreams:
  - { id: openai, kind: openai, baseUrl: "${upstream.url}/v1", apiKey: sk-test }
  - { id: ollama, kind: ollama, baseUrl: "${upstream.url}" }
models:
  - { id: openai, kind: embedding, targets: [{ upstream: openai, model: text-embedding-3-small }] }
  - { id: ollama, kind: embedding, targets: [{ upstream: ollama, model: nomic }] }
  - { id: images, kind: image, targets: [{ upstream: openai, model: gpt-image-2 }] }
  - { id: links, kind: image, targets: [{ upstream: openai, model: dall-e-2 }] }
keys:
  - { name: test, key: ${testKey} }
`,
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const rawRequest = ({ path, headers, body }: Plan) => ({
  port: Number(new URL(gateway.url).port),
  path,
  headers: { authorization: `Bearer ${testKey}`, ...headers },
  body: JSON.stringify(body),
});

const run = async (plan: Plan, onSent: () => void): Promise<boolean> => {
  const { behavior, pauseMs } = plan;
  const response = await sendRaw({ ...rawRequest(plan), behavior, pauseMs, onSent });
  if (!response) return false;
  await plan.check(response);
  return true;
};

describe("every client gets its own vectors and images, byte for byte", () => {
  test("with two thousand concurrent requests, slow readers, aborts in every phase and constant eviction", async () => {
    const random = randomOf(1);
    let sent = 0;
    let checked = 0;
    const requests: Promise<void>[] = [];
    for (let number = 0; number < concurrentRequests; number++) {
      const request = run(planOf(random, number), () => sent++);
      requests.push(
        request.then((isChecked) => {
          if (isChecked) checked++;
        }),
      );
      // The accept queue of the listening socket is bounded.
      if (number % 100 === 99) await until(() => sent === number + 1);
    }
    // All requests are in flight, except the requests of disconnected clients, before the first response.
    await until(() => gateway.inFlight() > concurrentRequests / 2);
    gate.resolve();
    await Promise.all(requests);
    expect(checked).toBeGreaterThan(concurrentRequests / 2);
    for (const { name } of imageModes) expect(checkedModes.get(name), name).toBeGreaterThan(10);
    await until(() => gateway.inFlight() === 0);
  });

  test("on connections that carry many responses and are not read until the gateway cannot send any more", async () => {
    gate.resolve();
    const { promise: isStuck, resolve: startReading } = Promise.withResolvers<void>();
    const connection = async (seed: number): Promise<void> => {
      const random = randomOf(seed);
      // Few texts: most are cached, and requests on one connection are served one after the other.
      const plans = Array.from({ length: 1500 }, () => ({
        behavior: "read" as const,
        pauseMs: 0,
        ...embeddingsRequest([`text ${random(20)}`], "openai", "base64"),
      }));
      const responses = await sendPipelined(plans.map(rawRequest), isStuck);
      expect(responses).toHaveLength(plans.length);
      for (const [at, response] of responses.entries()) await plans[at]?.check(response);
    };
    const connections = [10, 11, 12, 13].map(connection);
    // The gateway waits for the clients when it completes no more requests.
    for (let [before, rows] = [-1, 0]; before < rows; ) {
      await Bun.sleep(1000);
      [before, rows] = [rows, gateway.rows().length];
    }
    startReading();
    await Promise.all(connections);
  });
});
