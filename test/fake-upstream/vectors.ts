/** Deterministic vectors and token counts: tests compute the expected values from the input alone. */

export type Input = string | readonly number[];

const seedOf = (input: Input): number => {
  // The kind is part of the seed: the tokens [1, 2] and the text "1,2" are different inputs.
  const text = typeof input === "string" ? `s${input}` : `t${input.join(",")}`;
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++)
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
};

/**
 * The unit vector that the fake upstream returns for this input. A shorter vector is the normalized beginning of a
 * longer one (Matryoshka), as with the text-embedding-3 models.
 */
export function fakeVector(input: Input, dims: number): Float32Array<ArrayBuffer> {
  const wide = new Float64Array(dims);
  let state = seedOf(input);
  let squares = 0;
  for (let i = 0; i < dims; i++) {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    const value = ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 - 0.5;
    wide[i] = value;
    squares += value * value;
  }
  const norm = Math.sqrt(squares);
  return Float32Array.from(wide, (value) => value / norm);
}

/** A token array counts itself. */
export const fakeTokens = (input: Input): number =>
  typeof input === "string" ? Math.max(1, Math.ceil(quarterTokensOf(input) / 4)) : input.length;

/**
 * A quarter of a token for each character of ASCII, three for each letter of two bytes in UTF-8, five for each
 * character of three bytes, which is about what real vocabularies do.
 */
export const quarterTokensOf = (text: string): number => 2 * Buffer.byteLength(text) - text.length;

/** Nine digits are enough to read the same float32 back, and are what OpenAI prints. */
export const asFloats = (vector: Iterable<number>): (number | null)[] =>
  Array.from(vector, (value) => (Number.isFinite(value) ? Number(value.toPrecision(9)) : null));

export const asBase64 = (vector: Float32Array | Uint8Array): string =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64");
