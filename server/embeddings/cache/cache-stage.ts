/**
 * Cache stage with single-flight: cached inputs are served from memory (cache hits), inputs in flight for another
 * request are waited for, duplicates are sent once (deduplication), and the remaining inputs are sent on as one
 * request.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import { overloadedError } from "../../limits/load-shedder.ts";
import type { PermittedModel } from "../../request/caller.ts";
import { joinChunks } from "../../request/http-types.ts";
import type { Send, Stage, StageRequest } from "../../request/stage.ts";
import type { SharedEmbeddings } from "../../storage/ports/shared-embeddings.ts";
import type {
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
  Vector,
} from "../../upstream/contract.ts";
import { invalidResponse } from "../../upstream/invalid-response.ts";
import { remapInputIndex } from "../../upstream/rejected-input.ts";
import { countedTokens, tokensPerInput } from "../embedding-usage.ts";
import { type InFlightQuery, type SingleFlight, waitForInFlight } from "../single-flight.ts";
import { itemsOf, unsplittableReason } from "../split.ts";
import { haveSameLength, writeBase64Response } from "../vector-formats.ts";
import { cacheKey, cacheKeyPrefix } from "./cache-key.ts";
import type { CachedEmbedding, EmbeddingCache } from "./embedding-cache.ts";

export interface CacheStageOptions {
  readonly cache: EmbeddingCache;
  readonly singleFlight: SingleFlight;
  /** The cache that replicas share. Absent: there is none. */
  readonly shared?: Pick<SharedEmbeddings, "get"> | undefined;
  readonly enabled: (model: PermittedModel) => boolean;
  /** The task type is translated for all upstreams of the model, so the client's spelling makes no difference. */
  readonly taskTypesTranslated?: (model: PermittedModel) => boolean;
}

type EmbeddingsRequest = StageRequest<EmbeddingsQuery>;
type Embeddings = Map<string, CachedEmbedding>;

/** How often a request waits for others that are then abandoned, before it sends its own upstream request. */
const maxWaits = 2;
/** A request with more inputs is probably indexing documents, not serving a user: it counts as a bulk request. */
export const maxInteractiveInputs = 64;

const isBulkRequest = ({ record: { priority, embeddings } }: EmbeddingsRequest): boolean =>
  priority === "batch" || embeddings.inputs > maxInteractiveInputs;

export const cacheStage =
  (options: CacheStageOptions): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) => {
    const { cache, singleFlight, shared, enabled, taskTypesTranslated } = options;

    /**
     * Sends the inputs upstream. On every outcome the single-flight entries are removed and the record has the usage.
     */
    const sendUpstream = (
      request: EmbeddingsRequest,
      keys: readonly string[],
      embeddings?: Embeddings,
    ): Promise<EmbeddingsResponse> => {
      const { record } = request;
      const tokensBefore = record.embeddings.upstreamTokens;
      record.embeddings.upstreamTokens = undefined;
      record.embeddings.cachedInputs -= keys.length;
      const flight = singleFlight.start(request, keys);
      const onResponse = (response: EmbeddingsResponse): EmbeddingsResponse => {
        const tokens = countedTokens(response);
        if (tokensBefore !== undefined && tokens !== undefined)
          record.embeddings.upstreamTokens = tokensBefore + tokens;
        try {
          storeResults(request, keys, response, flight, embeddings);
        } catch (error) {
          return onError(error);
        }
        singleFlight.end(flight, keys);
        return response;
      };
      const onError = (error: unknown): never => {
        flight.fail(error);
        singleFlight.end(flight, keys);
        throw error;
      };
      return callNext(next, withListener(request, flight)).then(onResponse, onError);
    };

    const storeResults = (
      request: EmbeddingsRequest,
      keys: readonly string[],
      { vectors, usage }: EmbeddingsResponse,
      flight: InFlightQuery,
      embeddings: Embeddings | undefined,
    ): void => {
      if (vectors.length !== keys.length)
        throw invalidResponse("its number of vectors differs from the number of inputs");
      // The count of a request with one input is that input's count.
      const shares =
        keys.length === 1 || !usage
          ? [usage?.inputTokens]
          : tokensPerInput(usage, request.query.input);
      const isBulk = isBulkRequest(request);
      for (let at = 0; at < keys.length; at++) {
        const key = keys[at] as string;
        // Waiters share the vector as received: no code modifies a response.
        const embedding = { vector: vectors[at] as Vector, tokens: shares[at] };
        if (!cache.set(key, embedding, isBulk))
          throw invalidResponse("a vector is not base64 of float32 numbers");
        flight.addResult(key, embedding);
        embeddings?.set(key, embedding);
      }
    };

    /**
     * Second-level cache: copies vectors that other replicas have cached into the cache of this process. Undefined:
     * there is nothing to look up.
     */
    const fetchShared = (
      request: EmbeddingsRequest,
      keys: readonly string[],
    ): Promise<void> | undefined => {
      if (!shared || request.record.cachePolicy !== "use") return undefined;
      const missing = keys.filter(
        (key) => !cache.has(key) && !singleFlight.find(key, request.record.priority),
      );
      const reading = missing.length > 0 ? shared.get(missing) : undefined;
      return reading?.then((found) => {
        for (const [at, embedding] of found.entries()) {
          if (embedding) cache.adopt(missing[at] as string, embedding, isBulkRequest(request));
        }
      });
    };

    /** Usually takes one round, and another one if a request that it waited for was abandoned. */
    const resolveInputs = async (
      request: EmbeddingsRequest,
      keys: readonly string[],
    ): Promise<EmbeddingsResponse> => {
      const indexes = firstIndexes(keys);
      const embeddings: Embeddings = new Map();
      const mayRead = request.record.cachePolicy === "use";
      const isBulk = isBulkRequest(request);
      const { priority } = request.record;
      let waitsLeft = mayRead ? maxWaits : 0;
      let missing = [...indexes.keys()];
      while (missing.length > 0) {
        const ownKeys: string[] = [];
        const joined = new Map<string, InFlightQuery>();
        for (const key of missing) {
          const embedding = mayRead ? cache.get(key, request.query.encoding, isBulk) : undefined;
          const flight =
            embedding || waitsLeft === 0 ? undefined : singleFlight.find(key, priority);
          if (embedding) embeddings.set(key, embedding);
          else if (flight) joined.set(key, flight);
          else ownKeys.push(key);
        }
        // No input was removed, so the upstream's response is passed on byte for byte.
        if (ownKeys.length === keys.length) return sendUpstream(request, ownKeys);
        const ownRequest =
          ownKeys.length > 0
            ? sendUpstream(selectInputs(request, indexes, ownKeys), ownKeys, embeddings).catch(
                (error) => {
                  // The error's index counts the inputs that were sent. It is mapped back to the client's inputs.
                  throw remapInputIndex(
                    error,
                    ownKeys.map((key) => indexes.get(key) as number),
                  );
                },
              )
            : undefined;
        const others = new Set(joined.values());
        const joinedRequests = others.size > 0 ? waitForInFlight(others, request) : undefined;
        // The request's own upstream request is awaited first, even if a joined request fails meanwhile: the usage of
        // the own upstream request is charged to this client.
        await ownRequest;
        await joinedRequests;
        if (joinedRequests && request.signal.aborted) throw request.signal.reason;
        for (const flight of others) if (flight.alsoFails(request)) throw flight.error;
        missing = [];
        waitsLeft--;
        for (const [key, flight] of joined) {
          const embedding = flight.result(key);
          if (embedding) embeddings.set(key, embedding);
          else missing.push(key);
          // The joined request was refused, possibly for a reason that does not apply to this request. This request
          // joins no other: it is sent now, as are the other waiters, so they do not wait for each other in turn.
          if (!embedding && !flight.wasAbandoned) waitsLeft = 0;
        }
      }
      const response = assembleResponse(keys, embeddings);
      if (haveSameLength(response.vectors)) return response;
      // Cached and new vectors differ in length, so the model has changed: all inputs are sent to the upstream.
      const all = [...indexes.keys()];
      request.record.embeddings.cachedInputs = keys.length;
      embeddings.clear();
      await sendUpstream(selectInputs(request, indexes, all), all, embeddings);
      const fresh = assembleResponse(keys, embeddings);
      if (!haveSameLength(fresh.vectors))
        throw invalidResponse("its vectors are of different lengths");
      return fresh;
    };

    /** The response of each hot entry with its serialized body, which is built once. */
    const serializedResponses = new WeakMap<CachedEmbedding, EmbeddingsResponse>();
    const cachedResponse = (found: CachedEmbedding, query: EmbeddingsQuery): EmbeddingsResponse => {
      const cached = serializedResponses.get(found);
      if (cached?.serialized?.model === query.model) return cached;
      const { tokens } = found;
      const response = responseOf([found.vector], tokens);
      // An unknown token count is estimated from the input when the response is serialized.
      if (query.encoding !== "base64" || tokens === undefined) return response;
      const { model } = query;
      const body = joinChunks(writeBase64Response(response, { model, tokens }));
      const withBody = { ...response, serialized: { body, model } };
      serializedResponses.set(found, withBody);
      return withBody;
    };

    const bypassCache = async (request: EmbeddingsRequest): Promise<EmbeddingsResponse> => {
      const response = await next(request);
      request.record.embeddings.upstreamTokens = countedTokens(response);
      return response;
    };

    return (request) => {
      const { query, model, record } = request;
      const { input } = query;
      const count = itemsOf(input);
      record.embeddings.inputs = count;
      const isUncached =
        !enabled(model) || record.cachePolicy === "no-store" || unsplittableReason(query, model);
      if (isUncached) return bypassCache(request);
      record.embeddings.cachedInputs = count;
      record.embeddings.upstreamTokens = 0;
      const prefix = cacheKeyPrefix(
        query,
        model,
        query.taskType !== undefined && taskTypesTranslated?.(model) === true,
      );
      const first = cacheKey(prefix, input, 0);
      // Fast path for one input, which most requests have: the code for several inputs would be most of their cost.
      if (count === 1) {
        const mayRead = record.cachePolicy === "use";
        const found = mayRead
          ? cache.get(first, query.encoding, record.priority === "batch")
          : undefined;
        if (found) return Promise.resolve(cachedResponse(found, query));
        const reading = fetchShared(request, [first]);
        if (reading) return reading.then(() => resolveInputs(request, [first]));
        return mayRead && singleFlight.find(first, record.priority)
          ? resolveInputs(request, [first])
          : sendUpstream(request, [first]);
      }
      const keys = [first];
      for (let at = 1; at < count; at++) keys.push(cacheKey(prefix, input, at));
      const reading = fetchShared(request, keys);
      return reading
        ? reading.then(() => resolveInputs(request, keys))
        : resolveInputs(request, keys);
    };
  };

/** Only requests of batch priority are listened to: interactive requests are waited for in any case. */
const withListener = (request: EmbeddingsRequest, flight: InFlightQuery): EmbeddingsRequest =>
  request.record.priority === "batch" ? { ...request, sendListener: flight } : request;

/** A synchronous throw of the next stage becomes a rejection. */
function callNext(
  next: Send<EmbeddingsQuery, EmbeddingsResponse>,
  request: EmbeddingsRequest,
): Promise<EmbeddingsResponse> {
  try {
    return next(request);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** The index of each distinct input's first occurrence. */
function firstIndexes(keys: readonly string[]): ReadonlyMap<string, number> {
  const indexes = new Map<string, number>();
  for (const [at, key] of keys.entries()) if (!indexes.has(key)) indexes.set(key, at);
  return indexes;
}

/** The same request with these inputs only. */
function selectInputs(
  request: EmbeddingsRequest,
  indexes: ReadonlyMap<string, number>,
  keys: readonly string[],
): EmbeddingsRequest {
  const { input } = request.query;
  const pick = <T>(entries: readonly T[]): T[] =>
    keys.map((key) => entries[indexes.get(key) as number] as T);
  const picked: EmbeddingInput =
    input.kind === "text"
      ? { kind: "text", texts: pick(input.texts) }
      : { kind: "tokens", tokens: pick(input.tokens) };
  return { ...request, query: { ...request.query, input: picked } };
}

/** The response in the order of the inputs. A duplicate counts twice, as if each input had been requested alone. */
function assembleResponse(keys: readonly string[], embeddings: Embeddings): EmbeddingsResponse {
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

const responseOf = (
  vectors: readonly Vector[],
  inputTokens: number | undefined,
): EmbeddingsResponse =>
  inputTokens === undefined ? { vectors } : { vectors, usage: { inputTokens } };

/**
 * Load shedding behind the embedding cache: a request that was admitted for the cache only, and missed it, is refused.
 */
export const cacheOnly: Stage<EmbeddingsQuery, EmbeddingsResponse> = (next) => (request) =>
  request.record.cacheOnly ? Promise.reject(overloadedError()) : next(request);
