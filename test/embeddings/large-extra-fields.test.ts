/**
 * Extra fields of a request are passed on, however large, without delaying other requests: they are not sorted, hashed
 * or sent twice.
 */

import { describe, expect, test } from "bun:test";
import { cacheKey, cacheKeys } from "../../server/embeddings/cache/cache-key.ts";
import { unsplittableReason } from "../../server/embeddings/split.ts";
import { fingerprintOf } from "../../server/idempotency/idempotent-request.ts";
import { planImage } from "../../server/images/plan/plan.ts";
import type { GenerationQuery } from "../../server/upstream/contract.ts";
import {
  type ImageCapabilities,
  unrestrictedImages,
} from "../../server/upstream/image-capabilities.ts";
import { closeAfterAll } from "../clean-up.ts";
import { startGateway } from "../harness.ts";
import { turnsDuring } from "../upstream/turns-during.ts";

interface Body {
  readonly model: string;
  readonly input: readonly string[];
}

/** Bodies of upstream requests. */
let received: Body[] = [];

const vendor = Bun.serve({
  port: 0,
  fetch: async (request) => {
    const body = (await request.json()) as Body;
    received.push(body);
    const embedding = Buffer.from(Float32Array.of(1, 2, 3).buffer).toString("base64");
    const data = body.input.map((_, index) => ({ object: "embedding", index, embedding }));
    return Response.json({ object: "list", data, model: body.model, usage: { total_tokens: 5 } });
  },
});

const mostInputs = 16;
const gateway = startGateway({
  settings: { VEXEL_CACHE_BYTES: "1000000" },
  yaml: `
upstreams:
  - { id: own, kind: qianfan, baseUrl: "http://127.0.0.1:${vendor.port}/v1", apiKey: k }
models:
  - { id: m, kind: embedding, targets: [{ upstream: own, model: in-house }], dimensions: 3 }
keys:
  - { name: test, key: sk-test-0123456789abcdef }
`,
});
closeAfterAll(gateway, vendor);

const embed = (extra: object, input: readonly string[] = ["a text"]) =>
  gateway.post("/v1/embeddings", { model: "m", input, ...extra });

describe.each<[string, object]>([
  ["11,000 numbers", { x: Array(11_000).fill(1) }],
  ["1,100 empty objects", { x: Array(1100).fill({}) }],
  [
    "4,000 fields",
    Object.fromEntries(Array.from({ length: 4000 }, (_, at) => [`the field ${at}`, 1])),
  ],
  ["a text of 70 KB", { x: "x".repeat(70_000) }],
  ["a number and a text of 70 KB", { x: [1, "x".repeat(70_000)] }],
])("a request with extra fields of %s", (_, extra) => {
  test("is sent to the upstream each time, with the fields unchanged", async () => {
    received = [];
    for (let time = 0; time < 2; time++) expect((await embed(extra)).status).toBe(200);
    expect(received).toHaveLength(2);
    for (const body of received) expect(body).toMatchObject(extra);
  });

  test("is not split, and the error says why if the upstream does not accept all of its inputs", async () => {
    received = [];
    const input = Array.from({ length: mostInputs + 1 }, (_, at) => `text ${at}`);
    const response = await embed(extra, input);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("The extra fields of this request are large");
    expect(received).toHaveLength(0);
  });
});

test("a request with small extra fields is cached, whatever their order", async () => {
  received = [];
  const one = { x: { b: [1, 2], a: "text" }, y: 1 };
  const same = { y: 1, x: { a: "text", b: [1, 2] } };
  for (const extra of [one, same]) expect((await embed(extra)).status).toBe(200);
  expect(received).toHaveLength(1);
});

test("of a million extra values only the first eleven thousand are inspected", () => {
  let reads = 0;
  const x = new Proxy(Array(1_000_000).fill(1), {
    get: (list, name) => {
      reads++;
      return Reflect.get(list, name);
    },
  });
  expect(unsplittableReason({ extraFields: { x } }, {})).toBe("large extra fields");
  expect(reads).toBeLessThan(25_000);
});

const image = (extraFields: Record<string, unknown>): GenerationQuery => ({
  model: "m",
  prompt: "p",
  stream: false,
  options: {},
  extraFields,
});

test("large extra fields of an image request are fingerprinted as they were sent, small ones in any order", async () => {
  const x = Array(1100).fill({ a: 1 });
  const ofRest = (extraFields: Record<string, unknown>) =>
    fingerprintOf("generations", image(extraFields));
  expect(await ofRest({ x, y: 1 })).toBe(await ofRest({ x, y: 1 }));
  expect(await ofRest({ x, y: 1 })).not.toBe(await ofRest({ y: 1, x }));
  expect(await ofRest({ x, y: 1 })).not.toBe(await ofRest({ x, y: 2 }));
  expect(await ofRest({ x: [{ b: 1, a: 2 }], y: 1 })).toBe(
    await ofRest({ y: 1, x: [{ a: 2, b: 1 }] }),
  );
});

/** The least CPU time of five runs, in ms. */
function cpuMs(work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 5; run++) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

test("dropping ten times as many unknown fields takes about ten times as long", () => {
  const capabilities: ImageCapabilities = { ...unrestrictedImages, extras: ["seed"] };
  const costOf = (count: number): number => {
    const names = Array.from({ length: count }, (_, at) => [`field ${at}`, 1]);
    const query = image(Object.fromEntries(names));
    return cpuMs(() => expect(planImage(query, capabilities, "adapt").dropped).toHaveLength(count));
  };
  const few = costOf(2000);
  // A search through the list for each field would take a hundred times as long.
  expect(costOf(20_000)).toBeLessThan(40 * Math.max(few, 0.5));
});

const textKey = (text: string) => cacheKey("prefix", { kind: "text", texts: [text] }, 0);

test("a text with lone surrogates shares its cache key with no other text", () => {
  const long = "é".repeat(64 * 1024 - 1);
  const texts = [
    "\ud800",
    "\ud801",
    "\udc00",
    "\ufffd",
    "\ud800a",
    "a\ud800",
    "\udc00\ud800",
    "\ud800\udc00",
    Buffer.from("\ud800", "utf16le").toString("hex"),
    Buffer.from("\ud800", "utf16le").toString("latin1"),
    `${long}\ud800`,
    `${long}\ud800a`,
    `${long}\ud800\udc00`,
    `${long}\ud800\udc00\ud800`,
    `${long}\ud801\udc00\ud800`,
    `${long}\ufffd`,
  ];
  expect(new Set(texts.map(textKey)).size).toBe(texts.length);
});

test("the cache key of a text with a lone surrogate takes as long as hashing the text once", () => {
  const text = `\ud800${"é".repeat(4 * 1024 * 1024 - 1)}`;
  const bytes = Buffer.from(text, "utf16le");
  const hashing = cpuMs(() => Bun.SHA256.hash(bytes, "base64"));
  // The hexadecimal text of it would take five times as long.
  expect(cpuMs(() => textKey(text))).toBeLessThan(3 * hashing);
});

test("other requests are served while the inputs of a large request are hashed", async () => {
  const texts = Array.from({ length: 8 }, (_, at) => `${at} ${"x".repeat(1_000_000)}`);
  const input = { kind: "text", texts } as const;
  const { turns, result } = await turnsDuring(async () => cacheKeys("prefix", input));
  expect(result).toEqual(texts.map(textKey));
  expect(turns).toBeGreaterThanOrEqual(texts.length);
  const short = { kind: "text", texts: ["a", "b"] } as const;
  expect(cacheKeys("prefix", short)).toEqual(short.texts.map(textKey));
});
