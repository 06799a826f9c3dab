/**
 * However requests are split and batched, each client gets the response that one upstream request per input would give.
 */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { batch } from "../../server/embeddings/batch.ts";
import { split } from "../../server/embeddings/split.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { loadOf } from "../../server/limits/request-demand.ts";
import { composeStages, type Stage } from "../../server/request/stage.ts";
import type {
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
} from "../../server/upstream/contract.ts";
import { tries } from "../depth.ts";
import {
  type CountedRequest,
  capabilitiesOf,
  type EmbeddingsRequest,
  type EmbeddingsSend,
  entriesOf,
  modelWithTargets,
  outcomeOf,
  overloaded,
  rejected,
  requestFor,
  settled,
  targetNamed,
  tooManyTokens,
  vectorFor,
} from "../embeddings/stage-fixture.ts";

const inputText = fc.constantFrom(
  "a",
  "two words",
  "日本語のことば",
  "δοκιμή",
  "x".repeat(40),
  "🙂🙂",
);

const inputs = fc.oneof(
  fc.record({
    kind: fc.constant("text" as const),
    texts: fc.array(inputText, { minLength: 1, maxLength: 8 }),
  }),
  fc.record({
    kind: fc.constant("tokens" as const),
    tokens: fc.array(fc.array(fc.nat({ max: 99 }), { maxLength: 12 }), {
      minLength: 1,
      maxLength: 8,
    }),
  }),
);

const seldom = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

const member = fc.record({
  input: inputs,
  dimensions: seldom(fc.constantFrom(2, 3)),
  user: seldom(fc.constantFrom("u", "v")),
  taskType: seldom(fc.constant({ field: "task", given: "query" } as const)),
  outputType: seldom(
    fc.constantFrom("int8", "ubinary").map((type) => ({ type, field: "output_dtype" }) as const),
  ),
  extraFields: seldom(fc.constant({ truncate: true })),
  encoding: fc.constantFrom("float", "base64"),
  /** In turns of the event loop. */
  arrives: fc.nat({ max: 6 }),
  disconnectsAfter: seldom(fc.nat({ max: 8 })),
  /** The inputs that the upstream refuses. */
  poisoned: seldom(fc.nat({ max: 7 })),
});
type Member = typeof member extends fc.Arbitrary<infer T> ? T : never;

const scenario = fc.record({
  limits: fc.record(
    {
      maxItems: fc.integer({ min: 1, max: 9 }),
      maxTokens: fc.integer({ min: 4, max: 60 }),
      maxBytes: fc.integer({ min: 10, max: 200 }),
    },
    { requiredKeys: ["maxItems"] },
  ),
  /** The upstream's actual token limit, which no estimate knows. */
  trueTokens: fc.option(fc.integer({ min: 10, max: 60 }), { nil: undefined }),
  options: fc.record({
    lanes: fc.integer({ min: 1, max: 3 }),
    maxWaitMs: fc.constantFrom(0, 1, 60_000),
    maxTogether: fc.integer({ min: 1, max: 12 }),
    maxJoining: fc.integer({ min: 1, max: 8 }),
    maxWaiting: fc.nat({ max: 10 }),
  }),
  maxParallel: fc.integer({ min: 1, max: 4 }),
  /** For each upstream request, in order: how many turns of the event loop it takes, and its outcome. */
  turns: fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 9 }),
  behaviors: fc.oneof(
    fc.constant(["well" as const]),
    fc.array(fc.constantFrom("well", "well", "well", "unmetered", "broken"), {
      minLength: 3,
      maxLength: 9,
    }),
  ),
  members: fc.array(member, { minLength: 1, maxLength: 14 }),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

/** The token count of the fake upstream, which differs from the gateway's estimate. */
const trueTokensOf = (entry: string | readonly number[]): number =>
  typeof entry === "string" ? Math.ceil(entry.length / 2) : entry.length;

const poison = "poison";
const isPoisoned = (entry: string | readonly number[]): boolean =>
  typeof entry === "string" ? entry.includes(poison) : entry.includes(-1);
const ownerOf = (entry: string | readonly number[]): number =>
  typeof entry === "string" ? Number.parseInt(entry, 10) : (entry[0] ?? Number.NaN);

/** Each entry begins with the ID of its request, so that upstream requests can be traced back. */
function named(whose: number, { input, poisoned }: Member): EmbeddingInput {
  if (input.kind === "text") {
    const texts = input.texts.map(
      (text, at) => `${whose} ${at} ${at === poisoned ? poison : ""}${text}`,
    );
    return { kind: "text", texts };
  }
  const tokens = input.tokens.map((entry, at) => [
    whose,
    at,
    ...(at === poisoned ? [-1] : []),
    ...entry,
  ]);
  return { kind: "tokens", tokens };
}

/** A pure upstream: its response depends on the entry and the options alone. */
class Upstream {
  readonly #scenario: Scenario;
  readonly unmetered = new Set<number>();
  readonly failed = new Set<number>();
  charged = 0;
  underWay = 0;
  requestCount = 0;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  readonly next: EmbeddingsSend = async (request) => {
    const { turns, behaviors } = this.#scenario;
    const [wait, behavior] = [
      turns[this.requestCount % turns.length]!,
      behaviors[this.requestCount % behaviors.length]!,
    ];
    this.requestCount++;
    this.#expectWithinLimits(request);
    this.underWay++;
    try {
      for (let turn = 0; turn < wait; turn++) {
        await settled();
        if (request.signal().aborted) throw request.signal().reason;
      }
      return this.#respond(request, behavior);
    } finally {
      this.underWay--;
    }
  };

  #expectWithinLimits({ query }: EmbeddingsRequest): void {
    const { items, tokens, bytes } = loadOf(query.input);
    const { maxItems, maxTokens = Infinity, maxBytes = Infinity } = this.#scenario.limits;
    expect(items).toBeGreaterThan(0);
    expect(items).toBeLessThanOrEqual(maxItems);
    // A single entry that is too large cannot be split.
    if (items === 1) return;
    expect(tokens).toBeLessThanOrEqual(maxTokens);
    expect(bytes).toBeLessThanOrEqual(maxBytes);
  }

  #respond(
    { query }: EmbeddingsRequest,
    behavior: Scenario["behaviors"][number],
  ): EmbeddingsResponse {
    const entries = entriesOf(query.input);
    const owners = entries.map(ownerOf);
    if (behavior === "broken") {
      for (const owner of owners) this.failed.add(owner);
      throw overloaded();
    }
    const bad = entries.find(isPoisoned);
    if (bad !== undefined) throw rejected(`refused for ${ownerOf(bad)}`);
    const inputTokens = entries.reduce((sum, entry) => sum + trueTokensOf(entry), 0);
    if (inputTokens > (this.#scenario.trueTokens ?? Infinity)) throw tooManyTokens();
    const vectors = entries.map((entry) => vectorFor(entry, query));
    if (behavior === "unmetered") {
      for (const owner of owners) this.unmetered.add(owner);
      return { vectors };
    }
    this.charged += inputTokens;
    return { vectors, usage: { inputTokens } };
  }
}

async function inTurns(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await settled();
}

type EmbeddingsOutcome = Awaited<ReturnType<typeof outcomeOf<EmbeddingsResponse>>>;

function expectOwnOutcome(
  whose: number,
  request: CountedRequest,
  outcome: EmbeddingsOutcome,
  upstream: Upstream,
  scenario: Scenario,
): void {
  const entries = entriesOf(request.query.input);
  const hasDisconnected = request.signal().aborted;
  if ("value" in outcome) {
    expect(entries.some(isPoisoned)).toBe(false);
    expect(outcome.value.vectors).toEqual(entries.map((entry) => vectorFor(entry, request.query)));
    if (!hasDisconnected)
      expect(outcome.value.usage === undefined).toBe(upstream.unmetered.has(whose));
    return;
  }
  const { error } = outcome;
  if (hasDisconnected && error === request.signal().reason) return;
  expect(error).toBeInstanceOf(GatewayError);
  const { kind, message } = error as GatewayError;
  switch (kind) {
    case "upstream_rejected":
      expect(message).toBe(`refused for ${whose}`);
      return;
    case "max_tokens_per_request":
      expect(entries.some((entry) => trueTokensOf(entry) > scenario.trueTokens!)).toBe(true);
      return;
    default:
      expect(kind).toBe("upstream_overloaded");
      expect(upstream.failed.has(whose)).toBe(true);
  }
}

async function expectOwnResponses(scenario: Scenario): Promise<void> {
  const upstream = new Upstream(scenario);
  const target = targetNamed("a");
  const model = modelWithTargets(target);
  const capabilities = capabilitiesOf(scenario.limits);
  const choose: Stage<EmbeddingsQuery, EmbeddingsResponse> = (next) => (request) =>
    next({ ...request, target });
  const send = composeStages(
    [
      split({ capabilities, maxParallel: scenario.maxParallel }),
      choose,
      batch({
        capabilities,
        enabled: () => true,
        fastMs: 0,
        clock: () => 0,
        ...scenario.options,
      }),
    ],
    upstream.next,
  );
  const requests = scenario.members.map(async (one, whose) => {
    const { dimensions, user, taskType, outputType, extraFields, encoding } = one;
    const request = requestFor(named(whose, one), model, {
      encoding,
      ...(dimensions !== undefined && { dimensions }),
      ...(user !== undefined && { user }),
      ...(taskType && { taskType }),
      ...(outputType && { outputType }),
      ...(extraFields && { extraFields }),
    });
    await inTurns(one.arrives);
    const outcome = outcomeOf(send(request));
    if (one.disconnectsAfter !== undefined) {
      await inTurns(one.disconnectsAfter);
      request.client.abort(new Error(`${whose} disconnected`));
    }
    return { request, outcome: await outcome };
  });
  const ended = await Promise.all(requests);
  for (const [whose, { request, outcome }] of ended.entries()) {
    expectOwnOutcome(whose, request, outcome, upstream, scenario);
    expect(request.client.listeners.size).toBe(0);
  }
  await inTurns(6);
  expect(upstream.underWay).toBe(0);
  const responses = ended.flatMap(({ outcome }) => ("value" in outcome ? [outcome.value] : []));
  if (responses.length === ended.length && upstream.unmetered.size === 0) {
    const reportedTokens = responses.reduce((sum, { usage }) => sum + (usage?.inputTokens ?? 0), 0);
    expect(reportedTokens).toBe(upstream.charged);
  }
}

test("requests that are split and batched get the same responses as one upstream request per input", async () => {
  await fc.assert(fc.asyncProperty(scenario, expectOwnResponses), tries(250));
}, 600_000);
