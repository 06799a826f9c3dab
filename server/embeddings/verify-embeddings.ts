/** Verifies an embeddings response: one vector for each input, all of one length, finite and not zero. */
import { invalidResponse } from "../request/invalid-response.ts";
import type { EmbeddingsQuery, EmbeddingsResponse, Vector } from "../upstream/contract.ts";
import { inspectVector } from "./vector-formats.ts";

export function verifyEmbeddings(
  response: EmbeddingsResponse,
  query: EmbeddingsQuery,
  nativeDimensions: number | undefined,
): EmbeddingsResponse {
  const { input, dimensions } = query;
  const expected = input.kind === "text" ? input.texts.length : input.tokens.length;
  if (response.vectors.length !== expected) {
    throw invalidResponse(`${response.vectors.length} vectors for ${expected} inputs`);
  }
  let length = dimensions ?? nativeDimensions;
  const { vectors } = response;
  for (let at = 0; at < vectors.length; at++) {
    const inspected = inspectVector(vectors[at] as Vector);
    if (!inspected) throw invalidResponse(`vector ${at} is not base64 of float32 numbers`);
    length ??= inspected.length;
    if (inspected.length !== length || length === 0) {
      throw invalidResponse(`vector ${at} has ${inspected.length} dimensions instead of ${length}`);
    }
    if (inspected.validity === "valid") continue;
    throw invalidResponse(
      inspected.validity === "zero"
        ? `vector ${at} is all zeros`
        : `vector ${at} contains a value that is not a number`,
    );
  }
  return response;
}
