/** POST /v1/embeddings, and the older route with the model in its path. */
import {
  countedTokens,
  embeddingsCost,
  estimateInputTokens,
} from "../embeddings/embedding-usage.ts";
import { itemsOf } from "../embeddings/split.ts";
import {
  areFloat32Numbers,
  isLongResponse,
  type ResponseTail,
  type RunInTurns,
  writeBase64Response,
  writeFloatResponse,
  writeLongBase64Response,
} from "../embeddings/vector-formats.ts";
import { withoutNulls } from "../http/validate-body.ts";
import type { ChunkedBytes } from "../lib/chunked-bytes.ts";
import type { Endpoint, WriteContext, WrittenResponse } from "../pipeline/endpoint.ts";
import type { PermittedModel } from "../request/caller.ts";
import type { ResponseBody } from "../request/http-types.ts";
import type { EmbeddingsQuery, EmbeddingsResponse } from "../upstream/contract.ts";
import { embeddingsBody } from "./embeddings-body.ts";

export function embeddingsEndpoint(options: {
  readonly maxInputs: number;
}): Endpoint<EmbeddingsQuery, EmbeddingsResponse> {
  const { schema, read } = embeddingsBody(options.maxInputs);
  return {
    operation: "embeddings",
    kind: "embedding",
    body: schema,
    read: async (incoming, keyId, nameModel) => {
      const body = withoutNulls(await incoming.json(keyId));
      const model = nameModel(body.model);
      const named = model === body.model ? body : { ...body, model };
      return { query: read(named) };
    },
    responseBytes: expectedResponseBytes,
    cost: (record, route) => embeddingsCost(record, route.targets),
    write,
  };
}

/** The older route, for clients of 2022. They send their own `timeout` in the body, which is dropped. */
export function engineEmbeddingsEndpoint(options: {
  readonly maxInputs: number;
}): Endpoint<EmbeddingsQuery, EmbeddingsResponse> {
  const { engineSchema, read } = embeddingsBody(options.maxInputs);
  return {
    ...embeddingsEndpoint(options),
    body: engineSchema,
    read: async (incoming, keyId, nameModel) => {
      const { timeout, ...body } = withoutNulls(await incoming.json(keyId));
      const model = nameModel(body.model);
      return { query: read({ ...body, model }) };
    },
  };
}

/** `usage` is always sent: OpenAI's types require two integers, and strict clients fail on null. */
async function write(
  response: EmbeddingsResponse,
  query: EmbeddingsQuery,
  context: () => WriteContext,
): Promise<WrittenResponse> {
  const reported = response.usage?.inputTokens;
  const tokens = reported ?? (await estimateInputTokens(query.input));
  const counted = countedTokens(response);
  const tail = { model: query.model, tokens, totalTokens: response.usage?.totalTokens };
  return {
    kind: "buffered",
    body:
      response.serialized?.body ??
      shortBodyOf(response, query, tail) ??
      (await longBodyOf(response, query, tail, context)),
    usage: counted === undefined ? undefined : { inputTokens: counted },
    ...(reported === undefined && { estimated: true }),
  };
}

/** The body, if it is written in one step: the upstream's response body, or a short response in base64. */
function shortBodyOf(
  response: EmbeddingsResponse,
  query: EmbeddingsQuery,
  tail: ResponseTail,
): ResponseBody | undefined {
  const { verbatim } = response;
  // Float32 numbers are serialized again, so that their text is the same as in a later response from the cache.
  const isAsRequested = verbatim?.model === query.model && verbatim.encoding === query.encoding;
  if (isAsRequested && !(query.encoding === "float" && areFloat32Numbers(response.vectors))) {
    return releasedAfterSending(verbatim.body);
  }
  const isShort = query.encoding === "base64" && !isLongResponse(response);
  return isShort ? writeBase64Response(response, tail) : undefined;
}

async function longBodyOf(
  response: EmbeddingsResponse,
  query: EmbeddingsQuery,
  tail: ResponseTail,
  context: () => WriteContext,
): Promise<ResponseBody> {
  const write = query.encoding === "float" ? writeFloatResponse : writeLongBase64Response;
  const runInTurns: RunInTurns = (steps) => context().runInTurns(steps);
  return releasedAfterSending(await write(response, tail, runInTurns));
}

const largeBodyBytes = 64 * 1024;

/** A large body releases its memory as it is sent: nothing else refers to it. */
function releasedAfterSending(bytes: ChunkedBytes): ResponseBody {
  if (bytes.length < largeBodyBytes) return bytes.list;
  return { length: bytes.length, open: () => bytes.drain(), isInMemory: true };
}

/** Requests with fewer inputs have small responses. */
const manyInputs = 8;

/** For a model that the catalog does not know. */
const usualDimensions = 1536;

/**
 * Bytes in memory for each number of a vector: 5.3 for the upstream's base64, plus 5.3 for base64 or 11 for text in the
 * body of the response.
 */
const bytesPerNumber = { base64: 11, float: 16 } as const;

/** Estimates the memory that a response takes, in bytes. 0 for a request with few inputs. */
function expectedResponseBytes(
  { input, dimensions, encoding }: EmbeddingsQuery,
  { dimensions: configured, known }: PermittedModel,
): number {
  const inputs = itemsOf(input);
  if (inputs < manyInputs) return 0;
  const length = dimensions ?? configured ?? known?.dimensions ?? usualDimensions;
  return inputs * length * bytesPerNumber[encoding];
}
