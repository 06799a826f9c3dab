/** The vectors that the bench's upstream gives, known also to whoever measures what becomes of them. */

export const dimensions = 1536;

// As many as a call in floats asks for; what asks for more gets them again from the beginning.
const distinct = 64;

/** Base64 of packed float32, each of length 1 or nearly so. */
export const vectors: readonly string[] = Array.from({ length: distinct }, (_, at) =>
  Buffer.from(
    Float32Array.from(
      { length: dimensions },
      (_, i) => Math.sin(at * (dimensions + 1) + i + 1) / Math.sqrt(dimensions / 2),
    ).buffer,
  ).toString("base64"),
);
