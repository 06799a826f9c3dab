/** The vectors that the bench's upstream returns, shared with the scenarios that verify them. */

import { maxTextBytes, printFloats } from "../server/lib/vector-codec/index.ts";

export const dimensions = 1536;

// As many as a request for floats has; larger requests get them repeatedly.
const distinct = 64;

/** Base64 of packed float32 values, each vector of length 1 or nearly so. */
export const vectors: readonly string[] = Array.from({ length: distinct }, (_, at) =>
  Buffer.from(
    Float32Array.from(
      { length: dimensions },
      (_, i) => Math.sin(at * (dimensions + 1) + i + 1) / Math.sqrt(dimensions / 2),
    ).buffer,
  ).toString("base64"),
);

/** The same vectors as lists of JSON numbers, each the shortest text of its float32. */
export const numberTexts = (): readonly string[] =>
  vectors.map((vector) => {
    const bytes = Buffer.from(vector, "base64");
    const text = Buffer.alloc(maxTextBytes(dimensions));
    const numbers = new Float32Array(bytes.buffer, bytes.byteOffset, dimensions);
    return text.toString("latin1", 0, printFloats(numbers, text, 0));
  });
