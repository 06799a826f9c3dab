/** The upstream client: sends a request over HTTP through an adapter, or to a built-in model. */

import { GatewayError } from "../lib/gateway-error.ts";
import { LargeJson } from "../lib/large-json.ts";
import { createSerialize } from "../lib/tasks.ts";
import type { RequestTemp } from "../temp-storage/request-temp.ts";
import type {
  Adapter,
  ErrorContext,
  ImageAdapter,
  UpstreamRequest,
  UpstreamResponse,
} from "./adapter.ts";
import { throwErrorInside } from "./adapters/wire/error-in-response.ts";
import { rateLimitExhaustedMs } from "./adapters/wire/rate-limit-reset.ts";
import type {
  BuiltInModel,
  EditQuery,
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  GenerationQuery,
  ImageOperation,
  ImageResponse,
  ModerationResponse,
  Target,
} from "./contract.ts";
import type { CredentialCache } from "./credentials/credential-cache.ts";
import { createModelLists } from "./model-lists.ts";
import {
  pollOperation,
  type SendAuthenticated,
  type SendRecord,
  streamPartialImages,
} from "./poll-operation.ts";
import { sketchCapabilities } from "./sketch-capabilities.ts";
import type { SendUpstreamRequest } from "./transport/index.ts";

/** Headers that are added to every upstream request of one attempt, such as its trace context. */
type ExtraHeaders = Readonly<Record<string, string>> | undefined;

/** A request to a target. */
interface TargetRequest<Q> {
  readonly query: Q;
  readonly target?: Target | undefined;
  readonly signal: () => AbortSignal;
  readonly traceHeaders?: ExtraHeaders | undefined;
}

interface TargetImageRequest<Q> extends TargetRequest<Q> {
  /** Temp storage for large parts of a response. */
  readonly temp: RequestTemp;
  /** Names the API key. The default is a request of the gateway itself. */
  readonly context?: {
    readonly caller: { readonly id: string } | undefined;
    readonly line: SendRecord | undefined;
  };
}

export type UpstreamClient = {
  readonly embeddings: (request: TargetRequest<EmbeddingsQuery>) => Promise<EmbeddingsResponse>;
  readonly generations: (request: TargetImageRequest<GenerationQuery>) => Promise<ImageResponse>;
  readonly edits: (request: TargetImageRequest<EditQuery>) => Promise<ImageResponse>;
  /** Embedding capabilities of a target. */
  readonly embeddingCapabilities: (target: Target) => EmbeddingCapabilities;
  /** Moderates a prompt for the public `model`. */
  readonly moderation: (
    prompt: string,
    model: string,
    target: Target,
    signal: AbortSignal,
    headers?: ExtraHeaders,
  ) => Promise<ModerationResponse>;
  /** Image capabilities of a target. */
  readonly imageCapabilities: NonNullable<Adapter["imageCapabilities"]>;
};

/** Built-in models validate their requests themselves. */
const builtInModelCapabilities: EmbeddingCapabilities = {
  maxItems: 2048,
  base64: false,
  tokens: true,
  dimensions: "any",
  taskTypes: "indifferent",
  extras: ["truncate", "truncation"],
  normalized: true,
};

interface UpstreamClientOptions {
  readonly adapters: ReadonlyMap<string, Adapter>;
  readonly builtInModels: ReadonlyMap<string, BuiltInModel>;
  readonly send: SendUpstreamRequest;
  readonly credentials: CredentialCache;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Called for a target that responded and whose rate limit is now exhausted. */
  readonly onRateLimitExhausted?: OnRateLimitExhausted;
  /** The likely cost of images, in US dollars, if a price is known. If absent, none is. */
  readonly estimateImages?: (
    target: Target,
    operation: ImageOperation,
    query: GenerationQuery,
  ) => number | undefined;
}

export function createUpstreamClient({
  adapters,
  builtInModels,
  send,
  credentials,
  now,
  onRateLimitExhausted,
  estimateImages,
}: UpstreamClientOptions): UpstreamClient {
  const confirmModel = createModelLists(now);
  // The sub-requests of a split request would be serialized in one turn of the event loop.
  const serializeInTurn = createSerialize();
  const observeRateLimit = onRateLimitExhausted && createRateLimitObserver(onRateLimitExhausted);

  const sendAndRead = async <A>(
    adapter: Adapter,
    request: UpstreamRequest,
    context: ErrorContext,
    signal: AbortSignal,
    read: (response: UpstreamResponse) => Promise<A>,
    headers: ExtraHeaders,
  ): Promise<A> => {
    const { upstream } = context.target;
    for (let isRetry = false; ; isRetry = true) {
      // Most requests carry a static API key: no token or signature to wait for.
      const authenticated =
        adapter.credential || adapter.sign
          ? await credentials.authenticate(request, adapter, upstream, signal)
          : request;
      const response = await send(withHeaders(authenticated, headers), signal);
      const { status } = response;
      // Some servers respond to a POST with 201.
      if (status >= 200 && status <= 299) {
        observeRateLimit?.(response, context.target);
        return read(response);
      }
      const error = await adapter.readError(response, context);
      const isRefused = status === 401 || status === 403;
      // A refused request is neither executed nor billed.
      const isWorthRetry =
        isRefused &&
        !isRetry &&
        (await credentials.mayReplace(upstream, authenticated, error.kind, signal));
      if (!isWorthRetry) throw withResponse(error, response);
    }
  };

  const generate = async <Q extends GenerationQuery>(
    operation: ImageOperation,
    request: TargetImageRequest<Q>,
  ): Promise<ImageResponse> => {
    const { query, temp, context: origin, traceHeaders } = request;
    const signal = request.signal();
    const target = targetOf(request);
    // `operation` decides the type of the query.
    const builtInModel = builtInModels.get(target.upstream.kind)?.[operation] as
      | BuiltInModel["generations"]
      | undefined;
    if (builtInModel) return builtInModel(query, target, signal, origin?.caller?.id);
    const adapter = adapters.get(target.upstream.kind);
    const endpoint = adapter?.[operation] as ImageAdapter<Q> | undefined;
    if (!endpoint || !adapter) throw unsupported(query.model);
    const context = { target, model: query.model };
    const sendAuthenticated: SendAuthenticated = (sent, until) =>
      sendAndRead(adapter, sent, context, until, async (response) => response, traceHeaders);
    const read = async (response: UpstreamResponse) => {
      try {
        return await endpoint.fromUpstream(response, { query, target, temp });
      } catch (error) {
        return throwErrorInside(error, response, adapter, context);
      }
    };
    const upstreamRequest = endpoint.toUpstream(query, target);
    if (endpoint.models)
      await confirmModel(endpoint.models, { query, target, temp }, sendAuthenticated, signal);
    const line = origin?.line;
    const polling = {
      adapter: endpoint,
      query,
      target,
      signal,
      temp,
      send: sendAuthenticated,
      line,
    };
    const resumed = line?.takeUpstreamOperation(target);
    if (resumed) return pollOperation(polling, resumed);
    await line?.beforeSend();
    const response = sendAuthenticated(upstreamRequest, signal).then(read);
    if (query.stream && endpoint.watch)
      return { kind: "stream", events: streamPartialImages(polling, endpoint.watch, response) };
    const first = await response;
    if (first.kind !== "pending") return first;
    await line?.onUpstreamOperation(target, first, estimateImages?.(target, operation, query));
    return pollOperation(polling, first);
  };

  return {
    embeddingCapabilities: (target) =>
      adapters.get(target.upstream.kind)?.embeddings?.capabilities(target) ??
      builtInModelCapabilities,
    embeddings: async (given) => {
      const { query, traceHeaders } = given;
      const signal = given.signal();
      const target = targetOf(given);
      const builtInModel = builtInModels.get(target.upstream.kind);
      if (builtInModel?.embeddings) return builtInModel.embeddings(query, target, signal);
      const adapter = adapters.get(target.upstream.kind);
      const endpoint = adapter?.embeddings;
      if (!endpoint || !adapter) throw unsupported(query.model);
      const maxResponseBytes = maxEmbeddingsBytes(query);
      const request = { ...endpoint.toUpstream(query, target), maxResponseBytes };
      const { body } = request;
      const mustSignText = adapter.sign && !adapter.signStreamed;
      if (body instanceof LargeJson && !mustSignText) await serializeInTurn(() => body.serialize());
      const signable =
        body instanceof LargeJson && mustSignText ? { ...request, body: body.text() } : request;
      const context = { target, model: query.model };
      const read = (response: UpstreamResponse): Promise<EmbeddingsResponse> =>
        endpoint
          .fromUpstream(response, query, target)
          .catch((error) => throwErrorInside(error, response, adapter, context));
      return sendAndRead(adapter, signable, context, signal, read, traceHeaders);
    },
    generations: (request) => generate("generations", request),
    edits: (request) => generate("edits", request),
    moderation: async (prompt, model, target, signal, headers) => {
      const adapter = adapters.get(target.upstream.kind);
      const endpoint = adapter?.moderations;
      if (!endpoint || !adapter) throw unsupported(model);
      const request = endpoint.toUpstream(prompt, target);
      const context = { target, model };
      return sendAndRead(adapter, request, context, signal, endpoint.fromUpstream, headers);
    },
    imageCapabilities: (target, operation) =>
      adapters.get(target.upstream.kind)?.imageCapabilities?.(target, operation) ??
      sketchCapabilities(operation),
  };
}

function targetOf({ target }: TargetRequest<unknown>): Target {
  if (!target) throw new GatewayError("internal", "No target was selected.");
  return target;
}

/** Added after the signature, which covers only the adapter's own headers. */
const withHeaders = (request: UpstreamRequest, headers: ExtraHeaders): UpstreamRequest =>
  headers ? { ...request, headers: { ...request.headers, ...headers } } : request;

/** More than any model needs: 8,192 numbers of 64 bytes each, spaces included, and 1 MiB for other fields. */
const maxBytesPerInput = 1536 * 1024;

/**
 * A larger response is refused at its `content-length` or, without one, as soon as too many bytes have arrived. The
 * bound is proportional to the number of inputs: responses that are accepted one by one are accepted in a batch too.
 */
function maxEmbeddingsBytes({ input }: EmbeddingsQuery): number {
  if (input.kind === "mixed") return input.entries.length * maxBytesPerInput;
  const inputs = input.kind === "text" ? input.texts.length : input.tokens.length;
  return inputs * maxBytesPerInput;
}

const unsupported = (model: string): GatewayError =>
  new GatewayError(
    "unsupported_operation",
    `The model '${model}' does not support this operation.`,
    { param: "model" },
  );

/** Called when a target's rate limit is exhausted for `waitMs`. */
type OnRateLimitExhausted = (target: Target, waitMs: number) => void;

/**
 * Detects successful responses whose headers say that the rate limit is used up: such a target cools down before it
 * responds with 429. Every response is checked, because vendors limit each model separately and other clients may use
 * the same account. The gateway's own HTTP client checks the headers while parsing.
 */
export const createRateLimitObserver =
  (onRateLimitExhausted: OnRateLimitExhausted) =>
  (response: UpstreamResponse, target: Target): void => {
    if (response.mayReportExhaustedLimit === false) return;
    const waitMs = rateLimitExhaustedMs(response.headers);
    if (waitMs !== undefined) onRateLimitExhausted(target, waitMs);
  };

/**
 * Headers in which vendors send their id of the request: OpenAI and most others, Anthropic and Cohere, Azure, AWS,
 * Cloudflare.
 */
const requestIdHeaders = [
  "x-request-id",
  "request-id",
  "apim-request-id",
  "x-amzn-requestid",
  "cf-ray",
] as const;
/** Whether the text is an id or a code. Other text may be a message, with parts of the request. */
const isWord = (text: string): boolean => /^[\w.:-]{1,100}$/.test(text);

function withResponse(error: GatewayError, { status, headers }: UpstreamResponse): GatewayError {
  const { kind, message, details } = error;
  const ids = requestIdHeaders.map((name) => headers.get(name) ?? "");
  const requestId = ids.find(isWord);
  const { vendorCode: code, vendorMessage } = details;
  return new GatewayError(kind, message, {
    ...details,
    upstream: {
      status,
      ...(code && isWord(code) && { code }),
      ...(requestId && { requestId }),
      ...(vendorMessage && { message: vendorMessage }),
    },
  });
}
