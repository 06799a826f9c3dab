/** A gateway with every stage between a client and a vector, and requests whose correct response is known. */
import { expect } from "bun:test";
import fc from "fast-check";
import {
  fakeTokens,
  fakeVector,
  type InjectedFault,
  quarterTokensOf,
  startFake,
} from "../fake-upstream.ts";
import { startGateway, type TestGateway } from "../harness.ts";
import { quantize } from "../laws/output-types.ts";

export const keys = [
  "sk-one-0123456789abcdef",
  "sk-two-0123456789abcdef",
  "sk-six-0123456789abcdef",
];

interface GatewaySetup {
  readonly gateway: TestGateway;
  readonly fakes: readonly ReturnType<typeof startFake>[];
  close(): Promise<void>;
}

/**
 * `pair` has two targets; `small` accepts few texts at a time, full-length vectors only and no tokens; `plain` is not
 * cached.
 */
export function startGatewaySetup(): GatewaySetup {
  const fakes = [startFake(), startFake(), startFake()];
  const [one, two, small] = fakes.map(({ url }) => url);
  const gateway = startGateway({
    logLevel: "warn",
    settings: { VEXEL_CACHE_BYTES: "3000000", VEXEL_BATCH_WAIT_MS: "10" },
    yaml: `
upstreams:
  - { id: one, kind: openai, baseUrl: "${one}", apiKey: sk-fake }
  - { id: two, kind: vllm, baseUrl: "${two}", apiKey: sk-fake }
  - { id: small, kind: qianfan, baseUrl: "${small}", apiKey: sk-fake }
models:
  - { id: pair, kind: embedding, targets: [{ upstream: one, model: text-embedding-3-small }, { upstream: two, model: text-embedding-3-small }] }
  - { id: small, kind: embedding, targets: [{ upstream: small, model: text-embedding-3-small }] }
  - { id: plain, kind: embedding, cache: false, dimensions: 1536, targets: [{ upstream: one, model: custom-embedding-1 }] }
keys:
${keys.map((key, at) => `  - { name: key-${at}, key: ${key} }`).join("\n")}
`,
  });
  return {
    gateway,
    fakes,
    close: async () => {
      await gateway.close();
      for (const fake of fakes) fake.close();
    },
  };
}

/** Tokens of four letters each, so that the fake upstream counts the same number in their text. */
const vocabulary = [
  [279, " the"],
  [323, " and"],
  [369, " for"],
  [539, " not"],
  [499, " you"],
] as const;

/** Whole tokens: every way to divide a count among inputs then gives the same shares. */
const padded = (text: string): string => text + ".".repeat(-quarterTokensOf(text) & 3);

const sampleTexts = ["a", "two words", "日本語", "δοκιμή", "x".repeat(60), "🙂", "null", '"q"\\'];

const entryOf = (most: number) =>
  fc.record({ word: fc.nat({ max: most }), tokens: fc.nat({ max: 4 }) });
/** Most clients send the same few inputs, some more than fit into one upstream request. */
const entries = fc.oneof(
  { weight: 8, arbitrary: fc.array(entryOf(11), { minLength: 1, maxLength: 4 }) },
  { weight: 1, arbitrary: fc.array(entryOf(63), { minLength: 17, maxLength: 40 }) },
);
const seldom = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

export const client = fc.record({
  model: fc.constantFrom("pair", "pair", "small", "plain"),
  entries,
  asTokens: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.boolean()),
  bare: fc.boolean(),
  encoding: fc.constantFrom(undefined, "float", "base64"),
  dimensions: seldom(fc.constantFrom(1536, 256, 8)),
  type: seldom(fc.constantFrom("binary", "ubinary")),
  user: seldom(fc.constantFrom("u", "v")),
  key: fc.constantFrom(...keys),
  arrivesMs: fc.nat({ max: 5 }),
  disconnectsAfterMs: seldom(fc.nat({ max: 12 })),
});
export type Client = typeof client extends fc.Arbitrary<infer T> ? T : never;

/** Injected faults after which the response is still correct. */
export const harmless = fc.constantFrom<InjectedFault>(
  {},
  { delayMs: 2 },
  { delayMs: 15 },
  { vectors: "shuffled" },
  { vectors: "no-index" },
  { vectors: "float" },
  { vectors: "base64" },
  { encoding: "gzip" },
  { trickle: { bytes: 20_000, everyMs: 1 } },
  { huge: 10_000 },
  { body: "text" },
  { close: "after-body" },
);

/** Injected faults that make the response incorrect, and that can be detected. */
export const harmful = fc.constantFrom<InjectedFault>(
  ...(
    ["rate-limit", "slow-down", "overloaded", "server-error", "bad-gateway", "html"] as const
  ).map((fail) => ({ fail })),
  ...(["before-headers", "mid-headers", "mid-body"] as const).flatMap((where) => [
    { reset: where },
    { close: where },
  ]),
  // A reset may overtake what was sent before it.
  { reset: "after-body" },
  ...(["truncated", "html", "empty"] as const).map((body) => ({ body })),
  ...(["missing", "extra", "none", "duplicate-index", "nan", "zero"] as const).map((vectors) => ({
    vectors,
  })),
  ...(["ragged", "odd-base64", "wrong-dimensions", "nan-literal", "infinite"] as const).map(
    (vectors) => ({ vectors }),
  ),
  { encoding: "mislabeled" },
  { usage: "absent" },
);

interface ClientRequest {
  readonly body: object;
  /** The inputs that the model's upstream embeds, one for each input of the request. */
  readonly effectiveInputs: readonly (string | readonly number[])[];
  readonly length: number;
  /** Shortened and normalized by the gateway, so the last bit may differ. */
  readonly cut: boolean;
  readonly tokens: number;
}

/** `run` is in every input: what one run caches does not affect the next. */
export function clientRequestOf(client: Client, run: number): ClientRequest {
  const { model, dimensions, encoding, user, asTokens, bare, type } = client;
  const texts = client.entries.map(({ word }) =>
    padded(`${run} ${sampleTexts[word % 8]}${word >> 3}`),
  );
  const spelled = client.entries.map(({ word, tokens }) => [
    ...[...run.toString(5)].map(Number),
    ...Array.from({ length: word + 1 }, () => tokens),
  ]);
  const inputs = asTokens ? spelled.map((list) => list.map((at) => vocabulary[at]![0])) : texts;
  const decoded = spelled.map((list) => list.map((at) => vocabulary[at]![1]).join(""));
  return {
    body: {
      model,
      input: bare && inputs.length === 1 ? inputs[0] : inputs,
      encoding_format: encoding,
      dimensions,
      user,
      output_dtype: type,
    },
    effectiveInputs: asTokens && model === "small" ? decoded : inputs,
    length: dimensions ?? 1536,
    cut: model === "small" && dimensions !== undefined && dimensions !== 1536,
    tokens: inputs.reduce((sum, input) => sum + fakeTokens(input), 0),
  };
}

export interface ResponseBody {
  readonly data: readonly { readonly index: number; readonly embedding: unknown }[];
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number } | null;
}

const bits = (floats: Float32Array): string =>
  Buffer.from(floats.buffer, floats.byteOffset, floats.byteLength).toString("base64");

/** Equal to the last bit, in the requested encoding. */
export function expectOwnVectors(
  response: ResponseBody,
  request: ClientRequest,
  client: Client,
): void {
  const { effectiveInputs, length, cut } = request;
  expect(response.data.map(({ index }) => index)).toEqual(effectiveInputs.map((_, at) => at));
  for (const [at, { embedding }] of response.data.entries()) {
    if (client.type) {
      const bytes = quantize(fakeVector(effectiveInputs[at]!, length), client.type);
      expect(embedding, `not the bits of ${effectiveInputs[at]}`).toEqual([...bytes]);
      continue;
    }
    const base64 = typeof embedding === "string";
    expect(base64).toBe(client.encoding === "base64");
    const floats = base64
      ? new Float32Array(new Uint8Array(Buffer.from(embedding, "base64")).buffer)
      : Float32Array.from(embedding as number[]);
    const right = fakeVector(effectiveInputs[at]!, length);
    if (!cut) {
      if (bits(floats) !== bits(right)) throw new Error(`not the vector of ${effectiveInputs[at]}`);
      continue;
    }
    expect(floats.length).toBe(length);
    const off = Math.max(...floats.map((number, i) => Math.abs(number - right[i]!)));
    expect(off, `not the vector of ${effectiveInputs[at]}`).toBeLessThan(1e-6);
  }
}

/** The tokens that a fake upstream received in the texts of one run. */
export function upstreamTokens({ fakes }: GatewaySetup, fake: number, run: number): number {
  let sum = 0;
  for (const { json } of fakes[fake]!.requests) {
    const { input } = json as { input: string | string[] };
    for (const text of [input].flat()) if (text.startsWith(`${run} `)) sum += fakeTokens(text);
  }
  return sum;
}
