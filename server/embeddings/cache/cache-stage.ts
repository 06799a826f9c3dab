/**
 * Cache stage with single-flight: cached inputs are served from memory, inputs in flight for another request are waited
 * for, duplicates are sent once, and the remaining inputs are sent on as one request. A request with one input is
 * handled here, unless the input is in flight or was looked up in the shared cache; any other request is handled in
 * `resolve-inputs.ts`.
 */
import type { PermittedModel } from "../../request/caller.ts";
import type { Send, Stage } from "../../request/stage.ts";
import type { SharedEmbeddings } from "../../storage/redis/shared-embeddings.ts";
import type { EmbeddingsQuery, EmbeddingsResponse, Vector } from "../../upstream/contract.ts";
import { invalidResponse } from "../../upstream/invalid-response.ts";
import { responseOf, tokensPerInput } from "../embedding-usage.ts";
import type { InFlightQuery, SingleFlight } from "../single-flight.ts";
import { itemsOf, unsplittableReason } from "../split.ts";
import { cacheKey, cacheKeyPrefix, cacheKeys } from "./cache-key.ts";
import type { CachedEmbedding, EmbeddingCache } from "./embedding-cache.ts";
import {
  type EmbeddingsByKey,
  type EmbeddingsRequest,
  InputResolution,
  type InputSources,
} from "./resolve-inputs.ts";

export interface CacheStageOptions {
  readonly cache: EmbeddingCache;
  readonly singleFlight: SingleFlight;
  /** The cache that replicas share. If absent, there is none. */
  readonly shared?: Pick<SharedEmbeddings, "get"> | undefined;
  readonly enabled: (model: PermittedModel) => boolean;
  /** The task type is translated for all upstreams of the model, so the client's spelling makes no difference. */
  readonly taskTypesTranslated?: (model: PermittedModel) => boolean;
}

type EmbeddingsSend = Send<EmbeddingsQuery, EmbeddingsResponse>;

export const cacheStage =
  (options: CacheStageOptions): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) =>
    new CacheStage(options, next).send;

class CacheStage implements InputSources {
  readonly singleFlight: SingleFlight;
  readonly #options: CacheStageOptions;
  readonly #next: EmbeddingsSend;

  constructor(options: CacheStageOptions, next: EmbeddingsSend) {
    this.singleFlight = options.singleFlight;
    this.#options = options;
    this.#next = next;
  }

  get generation(): number {
    return this.#options.cache.generation;
  }

  readonly send: EmbeddingsSend = (request) => {
    const { enabled, taskTypesTranslated } = this.#options;
    const { query, model, context } = request;
    const { input } = query;
    const count = itemsOf(input);
    const isUncached =
      !enabled(model) || context.cachePolicy === "no-store" || unsplittableReason(query, model);
    if (isUncached) {
      request.report.addSentInputs(count);
      return this.#next(request);
    }
    const prefix = cacheKeyPrefix(
      query,
      model,
      query.taskType !== undefined && taskTypesTranslated?.(model) === true,
    );
    // Fast path for one input, which most requests have: the code for several inputs would be most of their cost.
    if (count === 1) {
      const key = cacheKey(prefix, input, 0);
      const cached = this.#cachedResponse(request, key);
      return cached ? Promise.resolve(cached) : this.#sendKeyed(request, [key]);
    }
    const keys = cacheKeys(prefix, input);
    return keys instanceof Promise
      ? keys.then((all) => this.#sendKeyed(request, all))
      : this.#sendKeyed(request, keys);
  };

  #sendKeyed(request: EmbeddingsRequest, keys: readonly string[]): Promise<EmbeddingsResponse> {
    const { cachePolicy, priority } = request.context;
    const reading = this.#fetchShared(request, keys);
    if (reading) return reading.then(() => this.#resolve(request, keys));
    const isInFlight =
      cachePolicy === "use" && this.singleFlight.find(keys[0] as string, priority) !== undefined;
    return keys.length > 1 || isInFlight
      ? this.#resolve(request, keys)
      : this.sendUpstream(request, keys);
  }

  readCache(request: EmbeddingsRequest, key: string): CachedEmbedding | undefined {
    const { query, context } = request;
    if (context.cachePolicy !== "use") return undefined;
    return this.#options.cache.get(key, query.outputType?.type ?? query.encoding);
  }

  #cachedResponse(request: EmbeddingsRequest, key: string): EmbeddingsResponse | undefined {
    const found = this.readCache(request, key);
    return found && responseOf([found.vector], found.tokens);
  }

  /**
   * Second-level cache: copies vectors that other replicas have cached into the cache of this process. Undefined if
   * there is nothing to look up.
   */
  #fetchShared(request: EmbeddingsRequest, keys: readonly string[]): Promise<void> | undefined {
    const { cache, singleFlight, shared } = this.#options;
    const { cachePolicy, priority } = request.context;
    if (!shared || cachePolicy !== "use") return undefined;
    const missing = keys.filter((key) => !cache.has(key) && !singleFlight.find(key, priority));
    const reading = missing.length > 0 ? shared.get(missing) : undefined;
    const { generation } = cache;
    return reading?.then((found) => {
      if (cache.generation !== generation) return;
      for (const [at, embedding] of found.entries()) {
        if (embedding) cache.adopt(missing[at] as string, embedding);
      }
    });
  }

  #resolve(request: EmbeddingsRequest, keys: readonly string[]): Promise<EmbeddingsResponse> {
    return new InputResolution(this, request, keys).resolve();
  }

  /** Sends the inputs upstream. On every outcome, the single-flight entries are removed. */
  sendUpstream(
    request: EmbeddingsRequest,
    keys: readonly string[],
    embeddings?: EmbeddingsByKey,
  ): Promise<EmbeddingsResponse> {
    const { singleFlight } = this;
    request.report.addSentInputs(keys.length);
    const flight = singleFlight.start(request, keys);
    // Until all vectors are stored, other requests find the inputs in flight.
    const onStored = (response: EmbeddingsResponse): EmbeddingsResponse => {
      const { isShared } = flight;
      singleFlight.end(flight, keys);
      return isShared ? withoutBody(response) : response;
    };
    const onResponse = (
      response: EmbeddingsResponse,
    ): EmbeddingsResponse | Promise<EmbeddingsResponse> => {
      try {
        const storing = this.#storeResults(request, keys, response, flight, embeddings);
        return storing ? storing.then(() => onStored(response), onError) : onStored(response);
      } catch (error) {
        return onError(error);
      }
    };
    const onError = (error: unknown): never => {
      flight.fail(error);
      singleFlight.end(flight, keys);
      throw error;
    };
    return callNext(this.#next, request).then(onResponse, onError);
  }

  /** A promise for many vectors, which are stored in steps. */
  #storeResults(
    request: EmbeddingsRequest,
    keys: readonly string[],
    { vectors, usage }: EmbeddingsResponse,
    flight: InFlightQuery,
    embeddings: EmbeddingsByKey | undefined,
  ): Promise<void> | undefined {
    if (vectors.length !== keys.length)
      throw invalidResponse("its number of vectors differs from the number of inputs");
    // The count of a request with one input is that input's count.
    const shares =
      keys.length === 1 || !usage
        ? [usage?.inputTokens]
        : tokensPerInput(usage, request.query.input);
    const share = (isValid: boolean): void => {
      if (!isValid) throw invalidResponse("a vector is not base64 of float32 numbers");
      if (!embeddings && !flight.isShared) return;
      for (let at = 0; at < keys.length; at++) {
        const key = keys[at] as string;
        // Waiters share the vector as received: no code modifies a response.
        const embedding = { vector: vectors[at] as Vector, tokens: shares[at] };
        flight.addResult(key, embedding);
        embeddings?.set(key, embedding);
      }
    };
    const stored = this.#options.cache.setAll(keys, vectors, shares);
    return typeof stored === "boolean" ? void share(stored) : stored.then(share);
  }
}

/** The memory of the body is released when it is sent, and other responses refer to its vectors. */
function withoutBody({ verbatim: _, ...response }: EmbeddingsResponse): EmbeddingsResponse {
  return response;
}

/** A synchronous throw of the next stage becomes a rejection. */
function callNext(next: EmbeddingsSend, request: EmbeddingsRequest): Promise<EmbeddingsResponse> {
  try {
    return next(request);
  } catch (error) {
    return Promise.reject(error);
  }
}
