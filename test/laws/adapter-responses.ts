/** Queries and generators of vectors for the laws of adapters. */
import fc from "fast-check";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { EmbeddingsQuery } from "../../server/upstream/contract.ts";

export const embeddingsQuery = (
  count: number,
  encoding: "float" | "base64" = "float",
): EmbeddingsQuery => ({
  model: "public-model",
  input: { kind: "text", texts: Array.from({ length: count }, (_, i) => `text ${i}`) },
  single: false,
  encoding,
  extraFields: {},
});

/** The gateway error, or undefined if the response was accepted. Any other exception is a bug. */
export async function errorKindOf(
  doing: () => Promise<unknown>,
): Promise<GatewayError | undefined> {
  try {
    await doing();
    return undefined;
  } catch (error) {
    if (error instanceof GatewayError && error.kind !== "internal") return error;
    throw error;
  }
}

const float32 = fc.float({ noNaN: true, noDefaultInfinity: true });
/** Vectors of one length, none of them all zeros. */
export const matrices = (maxRows = 5): fc.Arbitrary<Float32Array[]> =>
  fc
    .tuple(fc.integer({ min: 1, max: maxRows }), fc.integer({ min: 1, max: 16 }))
    .chain(([rows, columns]) =>
      fc.array(
        fc
          .array(float32, { minLength: columns, maxLength: columns })
          .filter((row) => row.some((number) => number !== 0))
          .map((row) => Float32Array.from(row)),
        { minLength: rows, maxLength: rows },
      ),
    );

export const bits = (vector: ArrayLike<number>): string =>
  Buffer.from(Float32Array.from(vector).buffer).toString("hex");
