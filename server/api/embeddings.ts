/** POST /v1/embeddings, and the older path with the model in the address. */

import { countedTokens, estimateInputTokens } from "../embeddings/embedding-usage.ts";
import { embeddingsCost } from "../embeddings/embeddings-cost.ts";
import {
  areFloat32Numbers,
  writeBase64Response,
  writeFloatResponse,
} from "../embeddings/write-vectors.ts";
import { releaseUnshared } from "../lib/chunked-bytes.ts";
import { freeBuffer } from "../lib/spill-buffer.ts";
import type { Endpoint, WrittenResponse } from "../pipeline/endpoint.ts";
import type { ResponseBody } from "../request/operation.ts";
import type { EmbeddingsQuery, EmbeddingsResponse } from "../upstream/contract.ts";
import { embeddingsBody, engineEmbeddingsBody, readEmbeddingsBody } from "./embeddings-body.ts";
import { withoutNulls } from "./fields.ts";

export function embeddingsEndpoint(options: {
  readonly maxInputs: number;
}): Endpoint<EmbeddingsQuery, EmbeddingsResponse> {
  return {
    operation: "embeddings",
    kind: "embedding",
    body: embeddingsBody,
    read: async (incoming, keyId, nameModel) => {
      const body = withoutNulls(await incoming.json(keyId));
      const model = nameModel(body.model);
      const named = model === body.model ? body : { ...body, model };
      return { query: readEmbeddingsBody(named, options.maxInputs) };
    },
    cost: (record, route) => embeddingsCost(record, route.targets),
    write,
  };
}

/** For clients of 2022, which put their own `timeout` into the body. */
export function engineEmbeddingsEndpoint(options: {
  readonly maxInputs: number;
}): Endpoint<EmbeddingsQuery, EmbeddingsResponse> {
  return {
    ...embeddingsEndpoint(options),
    body: engineEmbeddingsBody,
    read: async (incoming, keyId, nameModel) => {
      const { timeout, ...body } = withoutNulls(await incoming.json(keyId));
      const model = nameModel(body.model);
      return { query: readEmbeddingsBody({ ...body, model }, options.maxInputs) };
    },
  };
}

/** `usage` is always sent: OpenAI's types require two integers, and strict clients fail on null. */
async function write(reply: EmbeddingsResponse, query: EmbeddingsQuery): Promise<WrittenResponse> {
  const reported = reply.usage?.inputTokens;
  const tokens = reported ?? (await estimateInputTokens(query.input));
  const counted = countedTokens(reply);
  return {
    kind: "whole",
    body: reply.ready?.body ?? (await bodyOf(reply, query, tokens)),
    usage: counted === undefined ? undefined : { inputTokens: counted },
    ...(reported === undefined && { estimated: true }),
  };
}

async function bodyOf(
  reply: EmbeddingsResponse,
  query: EmbeddingsQuery,
  tokens: number,
): Promise<ResponseBody> {
  const { verbatim } = reply;
  // Float32 numbers are printed anew, so that their text is the same as later from the cache.
  const isAsRequested = verbatim?.model === query.model && verbatim.encoding === query.encoding;
  if (isAsRequested && !(query.encoding === "float" && areFloat32Numbers(reply.vectors))) {
    return releasedAfterSending(verbatim.body.list, releaseUnshared);
  }
  const { model } = query;
  if (query.encoding === "base64") return writeBase64Response(reply, { model, tokens });
  const numbers = await writeFloatResponse(reply, { model, tokens });
  return releasedAfterSending(numbers, ({ buffer }) => freeBuffer(buffer));
}

const largeBodyBytes = 64 * 1024;

/**
 * Once a large answer has left, its memory goes back at once: nobody else has it. Left to the garbage collector, such
 * answers would pile up, and new memory be fetched for each.
 */
function releasedAfterSending(
  list: readonly Uint8Array[],
  free: (piece: Uint8Array) => void,
): ResponseBody {
  const length = list.reduce((sum, piece) => sum + piece.length, 0);
  if (length < largeBodyBytes) return list;
  async function* open(): AsyncGenerator<Uint8Array> {
    try {
      for (const piece of list) {
        yield piece;
        free(piece);
      }
    } finally {
      for (const piece of list) free(piece);
    }
  }
  return { length, open };
}
