/** The key of a cached vector: requests share a vector exactly if nothing that affects it differs. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { cacheKey, cacheKeyPrefix } from "../../server/embeddings/cache/cache-key.ts";
import type { PermittedModel } from "../../server/request/caller.ts";
import type {
  EmbeddingInput,
  EmbeddingsQuery,
  ExtraFields,
} from "../../server/upstream/contract.ts";
import { parseTaskType } from "../../server/upstream/task-type.ts";
import { tries } from "../depth.ts";
import { inputsOf, materialOf, modelNamed } from "./cache-fixture.ts";

/** Two models of one vector space, one of another, two without a configured space. */
const models = [
  modelNamed("one", "space"),
  modelNamed("two", "space"),
  modelNamed("three", 'space",4,"'),
  modelNamed("space"),
  modelNamed("five"),
] as const;

/** Chosen to collide in a cache key that is concatenated carelessly. */
const texts = [
  "a",
  "b",
  "ab",
  "1,2",
  "1",
  "[1,2]",
  "t",
  "ta",
  "i1",
  " a",
  "a\0",
  "\ud800",
  "\ud801",
  "\ufffd",
  "d800",
  "é",
  "e\u0301",
  "Ã©",
];
const tokens = [[1], [1, 2], [12], [2, 1], [97]];
const extraFieldSamples: readonly ExtraFields[] = [
  { a: 1, b: { c: [1, 2], d: "x" } },
  { b: { d: "x", c: [1, 2] }, a: 1 },
  { a: 1, b: { c: [2, 1], d: "x" } },
  { a: "1" },
  JSON.parse('{"__proto__": {"a": 1}}') as ExtraFields,
  { long: "x".repeat(300) },
  { long: `${"x".repeat(299)}y` },
];

const textsOf = (some: readonly string[], maxLength: number): fc.Arbitrary<EmbeddingInput> =>
  fc
    .array(fc.constantFrom(...some), { minLength: 1, maxLength })
    .map((texts) => ({ kind: "text", texts }));
const tokensOf: fc.Arbitrary<EmbeddingInput> = fc
  .array(fc.constantFrom(...tokens), { minLength: 1, maxLength: 4 })
  .map((tokens) => ({ kind: "tokens", tokens }));

const often = <T>(weight: number, usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>) =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: other });

const taskTypes = [
  parseTaskType("input_type", "query"),
  parseTaskType("task", "query"),
  parseTaskType("input_type", "search_query"),
  parseTaskType("input_type", "a word of their own"),
];

/** Every kind of embeddings request. */
const query: fc.Arbitrary<EmbeddingsQuery> = fc
  .record({
    input: often(4, textsOf(texts, 6), tokensOf),
    encoding: fc.constantFrom("float" as const, "base64" as const),
    dimensions: fc.constantFrom(undefined, undefined, undefined, 4, 16),
    user: fc.constantFrom(undefined, "somebody"),
    taskType: fc.constantFrom(undefined, undefined, ...taskTypes),
    type: fc.constantFrom(undefined, undefined, "int8" as const, "ubinary" as const),
    extraFields: often(2, fc.constant<ExtraFields>({}), fc.constantFrom(...extraFieldSamples)),
  })
  .map(({ input, encoding, dimensions, user, taskType, type, extraFields }) => ({
    model: "model",
    input,
    single: false,
    encoding: type ? "float" : encoding,
    extraFields,
    ...(type && { outputType: { type, field: "output_dtype" } }),
    ...(dimensions !== undefined && { dimensions }),
    ...(user !== undefined && { user }),
    ...(taskType && { taskType }),
  }));

describe("a cache key", () => {
  const text = (one: string): EmbeddingInput => ({ kind: "text", texts: [one] });
  const anyInput = fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 6 }).map(text),
    fc
      .array(fc.nat({ max: 0xffff }), { minLength: 1, maxLength: 4 })
      .map((units) => text(String.fromCharCode(...units))),
    fc.constantFrom(...texts).map(text),
    fc
      .array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 3 })
      .map((list): EmbeddingInput => ({ kind: "tokens", tokens: [list] })),
  );
  const anyExtraFields = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }), {
    maxKeys: 3,
  });
  const upstreamRequest = fc
    .record({
      query,
      input: anyInput,
      extraFields: fc.oneof(fc.constant({}), fc.constantFrom(...extraFieldSamples), anyExtraFields),
      model: fc.constantFrom<PermittedModel>(...models),
    })
    .map(({ query, input, extraFields, model }) => ({
      query: { ...query, input, extraFields },
      model,
    }));
  type KeyedRequest = { readonly query: EmbeddingsQuery; readonly model: PermittedModel };
  const keyFor = ({ query, model }: KeyedRequest): string =>
    cacheKey(cacheKeyPrefix(query, model, false), query.input, 0);
  const materialFor = (one: KeyedRequest): string =>
    materialOf(one, inputsOf(one.query.input)[0] as string);

  test("is the same for two requests exactly if nothing that affects the vector differs", () => {
    // Compared with all earlier requests, in both directions.
    const materialByKey = new Map<string, string>();
    const keyByMaterial = new Map<string, string>();
    fc.assert(
      fc.property(upstreamRequest, (one) => {
        const [key, material] = [keyFor(one), materialFor(one)];
        expect(materialByKey.get(key) ?? material).toBe(material);
        expect(keyByMaterial.get(material) ?? key).toBe(key);
        materialByKey.set(key, material);
        keyByMaterial.set(material, key);
      }),
      tries(4000),
    );
  }, 600_000);
});
