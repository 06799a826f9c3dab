/** Embedding cache and single-flight: each request gets the vectors it would get alone, and none waits forever. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { cacheKey, cacheKeyPrefix } from "../../server/embeddings/cache/cache-key.ts";
import {
  type EmbeddingCacheOptions,
  entryOverhead,
} from "../../server/embeddings/cache/embedding-cache.ts";
import { writeBase64Response } from "../../server/embeddings/vector-formats.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { PermittedModel } from "../../server/request/caller.ts";
import { joinChunks } from "../../server/request/http-types.ts";
import type { EmbeddingInput, EmbeddingsQuery } from "../../server/upstream/contract.ts";
import { scaled, tries } from "../depth.ts";
import {
  bitsOf,
  disconnectError,
  embed,
  type Form,
  flood,
  inputsOf,
  materialOf,
  type PendingRequest,
  type RequestOutcome,
  settle,
  startCache,
  sumTokens,
  type UpstreamRequest,
} from "./cache-fixture.ts";
import {
  calm,
  crowded,
  evicting,
  extraFieldSamples,
  models,
  poison,
  query,
  type Step,
  texts,
} from "./cache-steps.ts";

function respondOrReject(
  upstreamRequest: UpstreamRequest | undefined,
  form: Form,
  hasUsage: boolean,
): void {
  const refused = upstreamRequest?.inputs.includes(poison);
  if (refused)
    upstreamRequest?.fail(new GatewayError("upstream_rejected", "This input is refused."));
  else upstreamRequest?.respond(form, hasUsage);
}

async function play(steps: readonly Step[], limits: EmbeddingCacheOptions) {
  const simulation = startCache(limits);
  const pendingRequests: PendingRequest[] = [];
  const ownOf = ({ request }: PendingRequest): UpstreamRequest[] =>
    simulation
      .pending()
      .filter((upstreamRequest) => upstreamRequest.request.record === request.record);
  for (const step of steps) {
    const pending = simulation.pending();
    if (step.do === "request")
      pendingRequests.push(simulation.start(step.query, step.model, step.caller));
    if (step.do === "respond") {
      respondOrReject(pending[step.which % pending.length], step.form, step.hasUsage);
    }
    if (step.do === "fail") {
      pending[step.which % pending.length]?.fail(new GatewayError(step.kind, "It was to fail."));
    }
    const disconnecting =
      step.do === "disconnect" ? pendingRequests[step.which % pendingRequests.length] : undefined;
    if (step.do === "disconnect" && disconnecting) {
      disconnecting.cancel.abort(disconnectError());
      // The upstream request is canceled now or later; while other clients wait for it, it is not canceled.
      if (!step.late)
        for (const upstreamRequest of ownOf(disconnecting))
          if (upstreamRequest.request.signal().aborted) upstreamRequest.fail(disconnectError());
    }
    if (step.do === "flood") flood(simulation.cache);
    if (step.do === "settle") {
      await settle();
      for (const pending of pendingRequests) {
        const gone = pending.request.signal().aborted && ownOf(pending).length === 0;
        expect(pending.ended || !gone, "a disconnected client still waits").toBe(true);
      }
    }
    expect(simulation.cache.bytes).toBeLessThanOrEqual(limits.maxBytes);
  }
  // Completes all upstream requests, the latest first.
  for (;;) {
    await settle();
    const upstreamRequest = simulation.pending().at(-1);
    if (!upstreamRequest) break;
    if (upstreamRequest.request.signal().aborted)
      upstreamRequest.fail(upstreamRequest.request.signal().reason);
    else respondOrReject(upstreamRequest, "base64", true);
  }
  expect(
    pendingRequests.every(({ ended }) => ended),
    "a client waits forever",
  ).toBe(true);
  expect(simulation.singleFlight.size).toBe(0);
  // Clients read slowly: every cache slot is overwritten before responses are checked.
  flood(simulation.cache);
  const outcomes = await Promise.all(pendingRequests.map(({ outcome }) => outcome));
  return { ...simulation, pendingRequests, outcomes };
}

type Simulation = Awaited<ReturnType<typeof play>>;

const materials = ({ request }: { readonly request: PendingRequest["request"] }): string[] =>
  inputsOf(request.query.input).map((one) => materialOf(request, one));

function checkResponse(
  { request }: PendingRequest,
  { response }: RequestOutcome & { ok: true },
  simulation: Simulation,
): void {
  expect(response.vectors.map(bitsOf)).toEqual(materials({ request }).map(embed).map(bitsOf));
  if (response.usage)
    expect(response.usage.inputTokens).toBe(sumTokens(inputsOf(request.query.input)));
  // The upstream's bytes are passed through only to the client whose request was sent unchanged.
  const upstreamRequest = simulation.upstreamRequests.find(
    (candidate) => candidate.response === response,
  );
  if (response.verbatim) {
    expect(upstreamRequest?.request.record).toBe(request.record);
    expect(upstreamRequest?.request.query).toBe(request.query);
  }
  const untouched = simulation.upstreamRequests.some(
    ({ request: { record }, inputs }) =>
      record === request.record && inputs.length === record.embeddings.inputs,
  );
  expect(response.verbatim !== undefined).toBe(untouched);
  // The prepared response body encodes the same vectors.
  const { serialized, ...bare } = response;
  if (serialized)
    expect(serialized).toEqual({
      body: joinChunks(
        writeBase64Response(bare, {
          model: request.query.model,
          tokens: bare.usage?.inputTokens ?? -1,
        }),
      ),
      model: request.query.model,
    });
}

/**
 * An error is the request's own, or that of a shared upstream request that would have failed for this client as well.
 */
function checkError(
  { request }: PendingRequest,
  { error }: RequestOutcome & { ok: false },
  simulation: Simulation,
): void {
  if (request.signal().aborted && error === request.signal().reason) return;
  const upstreamRequest = simulation.upstreamRequests.find((one) => one.error === error);
  if (!upstreamRequest) throw error;
  if (upstreamRequest.request.record === request.record) return;
  expect(upstreamRequest.abandoned).toBe(false);
  expect(upstreamRequest.request.model).toBe(request.model);
  expect(materials(upstreamRequest).some((one) => materials({ request }).includes(one))).toBe(true);
  const { causedBy, retry } = (error as GatewayError).definition;
  if (causedBy === "upstream" && retry !== "never") return;
  expect(upstreamRequest.inputs).toHaveLength(1);
  const likeness = ({ query, record }: PendingRequest["request"]) => [
    query.user,
    query.encoding,
    record.caller?.id,
  ];
  expect(likeness(upstreamRequest.request)).toEqual(likeness(request));
}

function checkRecord(
  { request }: PendingRequest,
  outcome: RequestOutcome,
  simulation: Simulation,
): void {
  const { record, query } = request;
  const own = simulation.upstreamRequests.filter(
    (upstreamRequest) => upstreamRequest.request.record === record,
  );
  const requestedMaterials = own.flatMap(materials);
  expect(new Set(requestedMaterials).size).toBe(requestedMaterials.length);
  const count = inputsOf(query.input).length;
  expect([record.embeddings.inputs, record.cachedInputs]).toEqual([
    count,
    count - requestedMaterials.length,
  ]);
  if (!outcome.ok) return;
  const reportedTokens = own.map(({ response }) => response?.usage?.inputTokens);
  const known = reportedTokens.every((tokens) => tokens !== undefined);
  expect(record.upstreamTokens).toBe(
    known ? sumTokens(own.flatMap(({ inputs }) => inputs)) : undefined,
  );
}

describe("requests that share a cache", () => {
  /** Pages for one vector each, one page for a few, several pages: vectors are evicted soon. */
  const tiny = [
    [2, 512, 2],
    [1, 2304, 3],
    [3, 2304, 6],
    [2, 1280, 1],
  ].map(([pages = 0, pageBytes = 0, entries = 0]) => ({
    maxBytes: pages * pageBytes + entries * entryOverhead,
    pageBytes,
  }));
  const cacheLimits = fc.constantFrom<EmbeddingCacheOptions>({ maxBytes: 0 }, ...tiny, {
    maxBytes: 1e6,
  });

  test("keep their own vectors, whatever is evicted and overwritten before they are read", async () => {
    let known = 0;
    await fc.assert(
      fc.asyncProperty(evicting, fc.constantFrom(...tiny), async (steps, limits) => {
        const simulation = await play(steps, limits);
        for (const [at, pending] of simulation.pendingRequests.entries()) {
          const outcome = simulation.outcomes[at] as RequestOutcome;
          if (outcome.ok) checkResponse(pending, outcome, simulation);
          known += outcome.ok && pending.request.record.cachedInputs > 0 ? 1 : 0;
        }
      }),
      tries(600),
    );
    // The cache did serve inputs.
    expect(known).toBeGreaterThan(scaled(600));
  }, 600_000);

  test("each get the response they would get alone, whatever happens to the others", async () => {
    await fc.assert(
      fc.asyncProperty(crowded, cacheLimits, async (steps, limits) => {
        const simulation = await play(steps, limits);
        for (const [at, pending] of simulation.pendingRequests.entries()) {
          const outcome = simulation.outcomes[at] as RequestOutcome;
          if (outcome.ok) checkResponse(pending, outcome, simulation);
          else checkError(pending, outcome, simulation);
          checkRecord(pending, outcome, simulation);
          const refused = inputsOf(pending.request.query.input).includes(poison);
          if (refused) expect(outcome.ok).toBe(false);
        }
      }),
      tries(1500),
    );
  }, 600_000);

  test("send each input upstream once, and lack usage only where an upstream reported none", async () => {
    await fc.assert(
      fc.asyncProperty(calm, async (steps) => {
        const simulation = await play(steps, { maxBytes: 1e6 });
        const all = simulation.upstreamRequests.flatMap(materials);
        expect(new Set(all).size).toBe(all.length);
        const silent = new Set(
          simulation.upstreamRequests.filter(({ response }) => !response?.usage).flatMap(materials),
        );
        for (const [at, pending] of simulation.pendingRequests.entries()) {
          const outcome = simulation.outcomes[at] as RequestOutcome;
          if (!outcome.ok) throw outcome.error;
          checkResponse(pending, outcome, simulation);
          checkRecord(pending, outcome, simulation);
          const unknown = materials(pending).some((one) => silent.has(one));
          expect(outcome.response.usage === undefined).toBe(unknown);
        }
      }),
      tries(500),
    );
  }, 600_000);
});

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
