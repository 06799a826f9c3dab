/** Compares the vectors that both gateways return for one short text. */
import type { OtherGateway } from "./ask-access.ts";
import { request } from "./ask-access.ts";

export const comparedText = "The vectors of this text are compared.";
/** More than any tokenizer makes of it. */
export const comparedTokens = 12;

export type Comparison = "equal" | "different" | "not compared";

/** Vendors return the same vector up to rounding. */
const leastCosine = 0.9999;

export async function compareVectors(
  there: OtherGateway,
  here: OtherGateway,
  key: string,
  model: string,
): Promise<Comparison> {
  const [one, other] = await Promise.all([vectorOf(there, key, model), vectorOf(here, key, model)]);
  if (!one || !other) return "not compared";
  return one.length === other.length && cosine(one, other) >= leastCosine ? "equal" : "different";
}

async function vectorOf(
  gateway: OtherGateway,
  key: string,
  model: string,
): Promise<readonly number[] | undefined> {
  const body = { model, input: comparedText, encoding_format: "float" };
  const response = await request(gateway, "/v1/embeddings", key, body);
  const text = await response.text();
  if (!response.ok) return undefined;
  const { data } = JSON.parse(text) as { data?: readonly { embedding?: unknown }[] };
  const vector = data?.[0]?.embedding;
  return Array.isArray(vector) ? (vector as number[]) : undefined;
}

function cosine(one: readonly number[], other: readonly number[]): number {
  let [dot, a, b] = [0, 0, 0];
  for (const [at, value] of one.entries()) {
    const second = other[at] ?? 0;
    dot += value * second;
    a += value * value;
    b += second * second;
  }
  return dot / Math.sqrt(a * b);
}
