/** Small pieces for embeddings adapters with a language of their own: what is asked, and what may be believed of an answer. */
import { GatewayError } from "../../std/gateway-error.ts";
import type { EmbeddingsQuery, EmbeddingsReply, EmbeddingTraits, Vector } from "../contract.ts";
import { wordFor } from "../purpose.ts";

/** Only for targets whose traits say that they take no tokens. */
export function textsOf({ input }: EmbeddingsQuery): readonly string[] {
  if (input.kind === "text") return input.texts;
  throw new GatewayError("internal", "Tokens were sent to a target that reads texts only.");
}

/** The vendor's own word for what the vectors are for. */
export function wordOf(
  { purpose }: EmbeddingsQuery,
  { purposes }: EmbeddingTraits,
): string | undefined {
  if (typeof purposes !== "object") return undefined;
  return purpose ? wordFor(purpose, purposes) : purposes.unsaid;
}

/** A member of what may be anything. */
export const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;

export function listIn(answer: unknown, name: string): readonly unknown[] {
  const list = memberOf(answer, name);
  if (!Array.isArray(list)) throw unusable(`it has no list called \`${name}\``);
  return list;
}

/** Numbers only: that they are numbers is looked at in step 13. */
export function vectorIn(entry: unknown, name: string): Vector {
  const vector = memberOf(entry, name);
  if (!Array.isArray(vector)) throw unusable(`an entry has no list called \`${name}\``);
  return vector;
}

/** Known exactly, or not at all: -1 is no number of anything, and an input has at least one token. */
export const usageOf = (count: unknown): Pick<EmbeddingsReply, "usage"> =>
  isCount(count) && count > 0 ? { usage: { inputTokens: count } } : {};

export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;

export const unusable = (why: string): GatewayError =>
  new GatewayError("upstream_invalid", `The upstream's answer is not usable: ${why}.`);
