/** Estimates the memory that an embeddings response takes until its last byte is sent. */
import type { Route } from "../request/caller.ts";
import type { EmbeddingsQuery } from "../upstream/contract.ts";

/** Requests with fewer inputs have small responses. */
const manyInputs = 8;

/** Of a model that the catalog does not know. */
const usualDimensions = 1536;

/**
 * Bytes for each number of a vector: 5.3 in base64, as vectors come from upstreams, once more in the body of the
 * response, or 11 as text.
 */
const bytesPerNumber = { base64: 11, float: 16 } as const;

/** 0 for a request with few inputs. */
export function expectedResponseBytes(
  { input, dimensions, encoding }: EmbeddingsQuery,
  { dimensions: configured, known }: Route,
): number {
  const inputs = input.kind === "text" ? input.texts.length : input.tokens.length;
  if (inputs < manyInputs) return 0;
  const length = dimensions ?? configured ?? known?.dimensions ?? usualDimensions;
  return inputs * length * bytesPerNumber[encoding];
}
