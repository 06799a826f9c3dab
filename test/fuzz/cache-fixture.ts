/** An upstream that responds when the test says so, with vectors that depend on the upstream request alone. */
import { expect } from "bun:test";
import { cacheStage } from "../../server/embeddings/cache/cache-stage.ts";
import {
  EmbeddingCache,
  type EmbeddingCacheOptions,
} from "../../server/embeddings/cache/embedding-cache.ts";
import { quarterTokens, reportServed } from "../../server/embeddings/embedding-usage.ts";
import { SingleFlight } from "../../server/embeddings/single-flight.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { EncodedVector } from "../../server/lib/vector-codec/float32-base64.ts";
import type { PermittedModel } from "../../server/request/caller.ts";
import { Deadline, SignalClient } from "../../server/request/deadline.ts";
import { RequestRecord } from "../../server/request/request-record.ts";
import type { StageRequest } from "../../server/request/stage.ts";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type {
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
  QuantizedVector,
  Vector,
} from "../../server/upstream/contract.ts";

export type EmbeddingsRequest = StageRequest<EmbeddingsQuery>;
/** A request whose record the test reads. */
export type RecordedRequest = EmbeddingsRequest & { readonly record: RequestRecord };
export type Form = "base64" | "numbers" | "floats";

/** A request made by the test, as if it had arrived over HTTP. */
export interface PendingRequest {
  readonly request: RecordedRequest;
  readonly cancel: AbortController;
  readonly outcome: Promise<RequestOutcome>;
  ended: boolean;
}

export type RequestOutcome =
  | { readonly ok: true; readonly response: EmbeddingsResponse }
  | { readonly ok: false; readonly error: unknown };

/** One request that has reached the upstream. */
export interface UpstreamRequest {
  readonly request: RecordedRequest;
  readonly inputs: readonly (string | readonly number[])[];
  readonly respond: (form: Form, hasUsage: boolean) => void;
  readonly fail: (error: unknown) => void;
  state: "pending" | "responded" | "failed";
  response?: EmbeddingsResponse;
  error?: unknown;
}

/** Models of one vector space share an upstream here; a model without one has its own upstream, under its own name. */
export function modelNamed(id: string, space?: string): PermittedModel {
  const upstream =
    space === undefined ? { id: "other", kind: "ollama" } : { id: "up", kind: "openai" };
  const targets = [{ upstream, model: space ?? id }];
  return {
    id,
    kind: "embedding",
    targets,
    ...(space !== undefined && { space }),
  } as unknown as PermittedModel;
}

export const inputsOf = (input: EmbeddingInput): readonly (string | readonly number[])[] => {
  if (input.kind === "mixed") throw new Error("this test has no images");
  return input.kind === "text" ? input.texts : input.tokens;
};

/** Everything that may affect the vector, written out. Text as code units: a lone surrogate counts too. */
export const materialOf = (
  { query, model }: Pick<EmbeddingsRequest, "query" | "model">,
  input: string | readonly number[],
): string => {
  const { space } = model;
  const units =
    typeof input === "string"
      ? [...Array(input.length).keys()].map((at) => input.charCodeAt(at))
      : input;
  return JSON.stringify([
    space === undefined ? { id: model.id } : { space },
    query.dimensions ?? null,
    query.taskType ? [query.taskType.field, query.taskType.given] : null,
    inOneOrder(query.extraFields),
    query.input.kind,
    units,
    query.outputType?.type ?? null,
  ]);
};

function inOneOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOneOrder);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, inOneOrder(member)]);
  return { members: members.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)) };
}

/** Vector lengths for several slot sizes, some of which fit exactly. */
const lengths = [16, 128, 129, 300, 513];

/** A pure function of the material: two inputs share a vector only if they are equal. */
export function embed(material: string): Float32Array | QuantizedVector {
  const bytes = new Bun.CryptoHasher("sha512").update(material).digest();
  // All vectors of one model with the same options have the same length.
  const parsed = JSON.parse(material) as unknown[];
  const [origin, dimensions] = parsed;
  const length = lengths[
    Bun.hash.crc32(JSON.stringify([origin, dimensions])) % lengths.length
  ] as number;
  const type = parsed.at(-1);
  if (type === "int8") return Int8Array.from({ length }, (_, at) => bytes[at % 64] as number);
  if (type === "ubinary") return Uint8Array.from({ length }, (_, at) => bytes[at % 64] as number);
  return Float32Array.from({ length }, (_, at) => bytes.readInt32LE((at % 16) * 4) / 7 + at);
}

let floods = 0;

/** Overwrites every slot of a small cache: any view into it now has other content. */
export function flood(cache: EmbeddingCache): void {
  for (const length of lengths) {
    const vector = new Float32Array(length).fill(++floods);
    for (let i = 0; i < 8; i++) cache.set(`flood ${floods} ${i}`, { vector, tokens: 1 });
  }
}

/** In the proportions by which the gateway divides a token count among inputs, so that each share is exact. */
export const tokensOf = (input: string | readonly number[]): number =>
  typeof input === "string" ? quarterTokens(input) : input.length;

const sumTokens = (inputs: readonly (string | readonly number[])[]): number =>
  inputs.reduce((sum, input) => sum + tokensOf(input), 0);

function inForm(vectors: readonly (Float32Array | QuantizedVector)[], form: Form): Vector[] {
  if (!(vectors[0] instanceof Float32Array)) return [...vectors];
  if (form === "numbers") return vectors.map((vector) => Array.from(vector));
  // Views into one buffer, at an offset.
  let from = 3;
  const whole = new Float32Array(vectors.reduce((sum, { length }) => sum + length, from)).fill(9);
  const views = vectors.map((vector) => {
    whole.set(vector, from);
    from += vector.length;
    return whole.subarray(from - vector.length, from);
  });
  return form === "floats" ? views : views.map(bitsOf);
}

export function requestOf(
  query: EmbeddingsQuery,
  model: PermittedModel,
  cancel = new AbortController(),
  caller = "key",
): RecordedRequest {
  // `client_closed` is a disconnect; any other reason ends the request like its timeout.
  const client = new AbortController();
  const timeout = new AbortController();
  cancel.signal.addEventListener("abort", () => {
    const { reason } = cancel.signal;
    if (reason?.kind === "client_closed") client.abort();
    else timeout.abort(reason);
  });
  const deadline = new Deadline({
    client: new SignalClient(client.signal),
    timeoutMs: 60_000,
    clock: () => performance.now(),
  });
  const record = new RequestRecord("request", "embeddings", 0);
  record.caller = { id: caller } as NonNullable<RequestRecord["caller"]>;
  const signal = AbortSignal.any([deadline.signal, timeout.signal]);
  record.embeddings.inputs = inputsOf(query.input).length;
  return {
    operation: "embeddings",
    query,
    model,
    signal: () => signal,
    deadline,
    temp: noRequestTemp,
    record,
    context: record,
    report: record,
  };
}

export function startCache(options: EmbeddingCacheOptions) {
  const cache = new EmbeddingCache(options);
  const singleFlight = new SingleFlight();
  const upstreamRequests: UpstreamRequest[] = [];

  const next = (given: EmbeddingsRequest): Promise<EmbeddingsResponse> => {
    const request = given as RecordedRequest;
    const { promise, resolve, reject } = Promise.withResolvers<EmbeddingsResponse>();
    const inputs = inputsOf(request.query.input);
    const upstreamRequest: UpstreamRequest = {
      request,
      inputs,
      state: "pending",
      respond: (form, hasUsage) => {
        if (upstreamRequest.state !== "pending") return;
        const vectors = inForm(
          inputs.map((input) => embed(materialOf(request, input))),
          form,
        );
        const { model, encoding } = request.query;
        const response: EmbeddingsResponse = {
          vectors,
          ...(hasUsage && { usage: { inputTokens: sumTokens(inputs) } }),
          verbatim: { body: Buffer.from("as it came"), model, encoding },
        };
        Object.assign(upstreamRequest, { state: "responded", response });
        resolve(response);
      },
      fail: (error) => {
        if (upstreamRequest.state !== "pending") return;
        Object.assign(upstreamRequest, { state: "failed", error });
        reject(error);
      },
    };
    upstreamRequests.push(upstreamRequest);
    return promise;
  };

  const send = cacheStage({ cache, singleFlight, enabled: () => true })(reportServed(next));

  return {
    cache,
    singleFlight,
    upstreamRequests,
    pending: () => upstreamRequests.filter(({ state }) => state === "pending"),
    start: (query: EmbeddingsQuery, model: PermittedModel, caller = "key"): PendingRequest => {
      const cancel = new AbortController();
      const request = requestOf(query, model, cancel, caller);
      const outcome = (async () => send(request))().then(
        (response): RequestOutcome => ({ ok: true, response }),
        (error: unknown): RequestOutcome => ({ ok: false, error }),
      );
      const pending: PendingRequest = { request, cancel, outcome, ended: false };
      void outcome.then(() => {
        pending.ended = true;
      });
      return pending;
    },
  };
}

export const textQuery = (
  texts: readonly string[],
  more: Partial<EmbeddingsQuery> = {},
): EmbeddingsQuery => ({
  model: "model",
  input: { kind: "text", texts },
  single: false,
  encoding: "base64",
  extraFields: {},
  ...more,
});

export const disconnectError = (): GatewayError =>
  new GatewayError("client_closed", "The client closed the connection.");

/** Waits until everything that is ready to run has run. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** All bits of a vector, in any encoding. */
export function bitsOf(vector: Vector): string {
  if (vector instanceof Int8Array || vector instanceof Uint8Array)
    return `${vector.constructor.name} ${vector.join()}`;
  if (typeof vector === "string" || vector instanceof EncodedVector) return String(vector);
  const { buffer, byteOffset, byteLength } = Float32Array.from(vector);
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

export async function upstreamResponseOf({ outcome }: PendingRequest): Promise<EmbeddingsResponse> {
  const ended = await outcome;
  if (!ended.ok) throw ended.error;
  return ended.response;
}

export const errorOf = (ended: RequestOutcome): unknown => (ended.ok ? undefined : ended.error);

/** Expects the vector of each input, in order. */
export async function expectVectors(pending: PendingRequest): Promise<void> {
  const { vectors } = await upstreamResponseOf(pending);
  const { request } = pending;
  const expected = inputsOf(request.query.input).map((one) => embed(materialOf(request, one)));
  expect(vectors.map(bitsOf)).toEqual(expected.map(bitsOf));
}
