/**
 * Resolves the inputs of a request that has several inputs, or one input that is in flight for another request or was
 * looked up in the shared cache: each input comes from the cache, from a request in flight (single-flight) or, if it is
 * a duplicate, from another input of the request. The remaining inputs are sent on as one request.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { StageRequest } from "../../request/stage.ts";
import type {
  Deviations,
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
  Vector,
} from "../../upstream/contract.ts";
import { invalidResponse } from "../../upstream/invalid-response.ts";
import { withEntries } from "../../upstream/mixed-input.ts";
import { remapInputIndex } from "../../upstream/rejected-input.ts";
import { responseOf } from "../embedding-usage.ts";
import {
  type InFlightQuery,
  type SingleFlight,
  waitAbortError,
  waitForInFlight,
} from "../single-flight.ts";
import { haveSameLength } from "../vector-formats.ts";
import type { CachedEmbedding } from "./embedding-cache.ts";

export type EmbeddingsRequest = StageRequest<EmbeddingsQuery>;

/** By cache key. */
export type EmbeddingsByKey = Map<string, CachedEmbedding>;

/** Where the vectors of inputs come from. */
export interface InputSources {
  readonly singleFlight: SingleFlight;
  /** Changes when the cache is cleared: the vectors that were received before may be wrong. */
  readonly generation: number;
  /** Undefined if the vector is not cached, or the client does not want cached vectors. */
  readCache(request: EmbeddingsRequest, key: string): CachedEmbedding | undefined;
  /** Adds the vectors to `embeddings`. */
  sendUpstream(
    request: EmbeddingsRequest,
    keys: readonly string[],
    embeddings?: EmbeddingsByKey,
  ): Promise<EmbeddingsResponse>;
}

/** How often a request waits for others that are then abandoned, before it sends its own upstream request. */
const maxWaits = 2;

export class InputResolution {
  readonly #sources: InputSources;
  readonly #request: EmbeddingsRequest;
  /** The cache key of each input. Duplicates have the same key. */
  readonly #keys: readonly string[];
  /** The index of each distinct input's first occurrence. */
  readonly #indexes: ReadonlyMap<string, number>;
  readonly #embeddings: EmbeddingsByKey = new Map();
  /** The inputs that other requests have in flight. */
  readonly #joined = new Map<string, InFlightQuery>();
  #waitsLeft: number;
  /** Some inputs were sent to an upstream. */
  #hasSent = false;
  /** How the request for these inputs was changed. */
  #deviations: Deviations | undefined;
  /** The tokens of images, if all inputs were sent in one request. */
  #imageTokens: number | undefined;

  constructor(sources: InputSources, request: EmbeddingsRequest, keys: readonly string[]) {
    this.#sources = sources;
    this.#request = request;
    this.#keys = keys;
    this.#indexes = firstIndexes(keys);
    this.#waitsLeft = request.context.cachePolicy === "use" ? maxWaits : 0;
  }

  /** Usually takes one round, and another one if a request that it waited for returned no vector. */
  async resolve(): Promise<EmbeddingsResponse> {
    const { generation } = this.#sources;
    let missing = [...this.#indexes.keys()];
    while (missing.length > 0) {
      const ownKeys = this.#lookUp(missing);
      // No input was removed, so the upstream's response is passed on byte for byte.
      if (ownKeys.length === this.#keys.length)
        return this.#sources.sendUpstream(this.#request, ownKeys);
      await this.#sendAndWait(ownKeys);
      missing = this.#takeJoinedResults();
    }
    const response = this.#assemble();
    // Vectors of different lengths mean that the model has changed since the cached ones were received.
    const isCurrent = this.#sources.generation === generation && haveSameLength(response.vectors);
    return isCurrent ? response : this.#sendAll();
  }

  /** Finds inputs in the cache and in flight. Returns the others, which this request has to send. */
  #lookUp(missing: readonly string[]): string[] {
    const { priority } = this.#request.context;
    const ownKeys: string[] = [];
    for (const key of missing) {
      const embedding = this.#sources.readCache(this.#request, key);
      const mayJoin = !embedding && this.#waitsLeft > 0;
      const flight = mayJoin ? this.#sources.singleFlight.find(key, priority) : undefined;
      if (embedding) this.#embeddings.set(key, embedding);
      else if (flight) this.#joined.set(key, flight);
      else ownKeys.push(key);
    }
    return ownKeys;
  }

  /** Sends this request's own inputs, and waits for the requests in flight that it has joined. */
  async #sendAndWait(ownKeys: readonly string[]): Promise<void> {
    const sending = ownKeys.length > 0 ? this.#sendInputs(ownKeys) : undefined;
    const flights = new Set(this.#joined.values());
    const waiting = flights.size > 0 ? waitForInFlight(flights, this.#request) : undefined;
    // The request's own upstream request is awaited first, even if a joined request fails meanwhile: the usage of the
    // own upstream request is charged to this client.
    await sending;
    await waiting;
    const signal = waiting && this.#request.signal();
    if (signal?.aborted) throw waitAbortError(signal, this.#hasSent);
    for (const flight of flights) if (flight.alsoFails(this.#request)) throw flight.error;
  }

  /** Returns the inputs without a result. */
  #takeJoinedResults(): string[] {
    const missing: string[] = [];
    this.#waitsLeft--;
    for (const [key, flight] of this.#joined) {
      const embedding = flight.result(key);
      if (embedding) this.#embeddings.set(key, embedding);
      else missing.push(key);
      // The joined request was refused, possibly for a reason that does not apply to this request. This request joins
      // no other: it is sent now, as are the other waiters, so they do not wait for each other in turn.
      if (!embedding && !flight.wasAbandoned) this.#waitsLeft = 0;
    }
    this.#joined.clear();
    return missing;
  }

  /** Cached vectors may be wrong or out of date: all inputs are sent to the upstream. */
  async #sendAll(): Promise<EmbeddingsResponse> {
    this.#embeddings.clear();
    await this.#sendInputs([...this.#indexes.keys()]);
    const response = this.#assemble();
    if (haveSameLength(response.vectors)) return response;
    throw invalidResponse("its vectors are of different lengths");
  }

  #assemble(): EmbeddingsResponse {
    const response = assembleResponse(this.#keys, this.#embeddings);
    const [deviations, imageTokens] = [this.#deviations, this.#imageTokens];
    if (!deviations && imageTokens === undefined) return response;
    const { usage } = response;
    return {
      ...response,
      ...(deviations && { deviations }),
      ...(usage && imageTokens !== undefined && { usage: { ...usage, imageTokens } }),
    };
  }

  /** Sends some of the inputs as a request of their own. */
  async #sendInputs(keys: readonly string[]): Promise<void> {
    const indexes = keys.map((key) => this.#indexes.get(key) as number);
    this.#hasSent = true;
    try {
      const { deviations, usage } = await this.#sources.sendUpstream(
        selectInputs(this.#request, indexes),
        keys,
        this.#embeddings,
      );
      if (deviations) this.#deviations = deviations;
      // Of cached inputs it is not known how many of their tokens are those of images.
      if (keys.length === this.#keys.length) this.#imageTokens = usage?.imageTokens;
    } catch (error) {
      // The error's index counts the inputs that were sent. It is mapped back to the client's inputs.
      throw remapInputIndex(error, indexes);
    }
  }
}

function firstIndexes(keys: readonly string[]): ReadonlyMap<string, number> {
  const indexes = new Map<string, number>();
  for (let at = 0; at < keys.length; at++) {
    const key = keys[at] as string;
    if (!indexes.has(key)) indexes.set(key, at);
  }
  return indexes;
}

/** The same request with the inputs at these indexes only. */
function selectInputs(request: EmbeddingsRequest, indexes: readonly number[]): EmbeddingsRequest {
  const { input } = request.query;
  const pick = <T>(entries: readonly T[]): T[] => indexes.map((index) => entries[index] as T);
  return { ...request, query: { ...request.query, input: pickFrom(input, pick) } };
}

function pickFrom(input: EmbeddingInput, pick: <T>(entries: readonly T[]) => T[]): EmbeddingInput {
  if (input.kind === "text") return { kind: "text", texts: pick(input.texts) };
  return input.kind === "tokens"
    ? { kind: "tokens", tokens: pick(input.tokens) }
    : withEntries(pick(input.entries));
}

/** The response in the order of the inputs. A duplicate counts twice, as if each input had been requested alone. */
function assembleResponse(
  keys: readonly string[],
  embeddings: EmbeddingsByKey,
): EmbeddingsResponse {
  const vectors: Vector[] = [];
  let sum: number | undefined = 0;
  for (const key of keys) {
    const embedding = embeddings.get(key);
    if (!embedding)
      throw new GatewayError("internal", "An input was neither cached nor requested.");
    vectors.push(embedding.vector);
    sum = sum === undefined || embedding.tokens === undefined ? undefined : sum + embedding.tokens;
  }
  return responseOf(vectors, sum);
}
