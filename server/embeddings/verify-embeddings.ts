/** Verifies an embeddings response: one vector for each input, all of one length, finite and not zero. */
import { invalidResponse } from "../request/invalid-response.ts";
import type { EmbeddingsQuery, EmbeddingsResponse, Vector } from "../upstream/contract.ts";
import { inspectVector } from "./vector-formats.ts";

export function verifyEmbeddings(
  reply: EmbeddingsResponse,
  query: EmbeddingsQuery,
  nativeDimensions: number | undefined,
): EmbeddingsResponse {
  const { input, dimensions } = query;
  const asked = input.kind === "text" ? input.texts.length : input.tokens.length;
  if (reply.vectors.length !== asked) {
    throw invalidResponse(`${reply.vectors.length} vectors for ${asked} inputs`);
  }
  let length = dimensions ?? nativeDimensions;
  const { vectors } = reply;
  for (let at = 0; at < vectors.length; at++) {
    const seen = inspectVector(vectors[at] as Vector);
    if (!seen) throw invalidResponse(`vector ${at} is not base64 of float32 numbers`);
    length ??= seen.length;
    if (seen.length !== length || length === 0) {
      throw invalidResponse(`vector ${at} has ${seen.length} dimensions instead of ${length}`);
    }
    if (seen.validity === "sound") continue;
    throw invalidResponse(
      seen.validity === "zero"
        ? `vector ${at} is all zeros`
        : `vector ${at} holds something that is not a number`,
    );
  }
  return reply;
}
