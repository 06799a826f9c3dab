/** Generators of cache events in any order: requests arrive, upstreams respond or fail, clients disconnect. */
import fc from "fast-check";
import type { PermittedModel } from "../../server/request/caller.ts";
import type {
  EmbeddingInput,
  EmbeddingsQuery,
  ExtraFields,
} from "../../server/upstream/contract.ts";
import { parseTaskType } from "../../server/upstream/task-type.ts";
import { type Form, modelNamed } from "./cache-fixture.ts";

export type Step =
  | {
      readonly do: "request";
      readonly query: EmbeddingsQuery;
      readonly model: PermittedModel;
      readonly caller: string;
    }
  | {
      readonly do: "respond";
      readonly which: number;
      readonly form: Form;
      readonly hasUsage: boolean;
    }
  | { readonly do: "fail"; readonly which: number; readonly kind: (typeof errorKinds)[number] }
  | { readonly do: "disconnect"; readonly which: number; readonly late: boolean }
  | { readonly do: "flood" }
  | { readonly do: "settle" };

const errorKinds = ["upstream_rate_limit", "upstream_error", "overloaded", "internal"] as const;

/** Two models of one vector space, one of another, two without a configured space. */
export const models = [
  modelNamed("one", "space"),
  modelNamed("two", "space"),
  modelNamed("three", 'space",4,"'),
  modelNamed("space"),
  modelNamed("five"),
] as const;

/** An input that every upstream refuses. */
export const poison = "poison";

/** Chosen to collide in a cache key that is concatenated carelessly. */
export const texts = [
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
export const extraFieldSamples: readonly ExtraFields[] = [
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
export const query: fc.Arbitrary<EmbeddingsQuery> = fc
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

/** A few inputs that many requests share, so that they contend. */
const popular: fc.Arbitrary<EmbeddingsQuery> = fc
  .record({
    input: often(5, textsOf(["a", "b", "c"], 4), textsOf(["a", "b", poison], 2)),
    encoding: often(4, fc.constant("base64" as const), fc.constant("float" as const)),
    user: often(3, fc.constant(undefined), fc.constant("somebody")),
  })
  .map(({ user, ...more }) => ({
    model: "model",
    single: false,
    extraFields: {},
    ...more,
    ...(user !== undefined && { user }),
  }));

const which = fc.nat({ max: 1000 });
const requests = (queries: fc.Arbitrary<EmbeddingsQuery>, usual: number): fc.Arbitrary<Step> =>
  fc.record({
    do: fc.constant("request" as const),
    query: queries,
    model: often(usual, fc.constant<PermittedModel>(models[0]), fc.constantFrom(...models)),
    caller: often(3, fc.constant("key"), fc.constant("another key")),
  });
const respond: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("respond" as const),
  which,
  form: fc.constantFrom<Form>("base64", "numbers", "floats"),
  hasUsage: often(9, fc.constant(true), fc.constant(false)),
});
const fail: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("fail" as const),
  which,
  kind: fc.constantFrom(...errorKinds),
});
const disconnect: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("disconnect" as const),
  which,
  late: fc.boolean(),
});
const flood = fc.constant<Step>({ do: "flood" });
const settle = fc.constant<Step>({ do: "settle" });

const steps = (...weighted: [number, fc.Arbitrary<Step>][]): fc.Arbitrary<Step[]> =>
  fc.array(fc.oneof(...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary }))), {
    minLength: 4,
    maxLength: 50,
  });

/** Every kind of request, and upstreams that work. */
export const calm = steps([3, requests(query, 2)], [2, respond], [1, settle]);
/** Few distinct requests, and many failures. */
export const crowded = steps(
  [6, requests(popular, 6)],
  [2, respond],
  [2, fail],
  [2, disconnect],
  [1, flood],
  [3, settle],
);
/** Cached inputs are requested repeatedly, alone and beside others, and evicted in between. */
export const evicting = steps([6, requests(popular, 6)], [5, respond], [2, flood], [4, settle]);
