/** Requests of the limits simulation, as the gateway sees them, and the demand of each. */
import type { Limits } from "../../contract/limits-and-budgets.ts";
import type { Demand, Rate } from "../../server/limits/rate-limit-counters.ts";
import type { EmbeddingsQuery, GenerationQuery } from "../../server/upstream/contract.ts";

export interface RequestPlan {
  readonly key: number;
  readonly model: number;
  readonly tokens: number;
  /** 0: an embeddings request. */
  readonly images: number;
}

export function queryOf({ tokens, images }: RequestPlan): EmbeddingsQuery | GenerationQuery {
  if (images > 0) {
    return {
      model: "",
      prompt: "x".repeat(tokens * 4),
      stream: false,
      options: { n: images, size: "1000x1000" },
      extraFields: {},
    };
  }
  const input = { kind: "tokens", tokens: [Array.from({ length: tokens }, () => 1)] } as const;
  return { model: "", input, single: true, encoding: "float", extraFields: {} };
}

export const difference = (a: Demand, b: Demand): Demand => ({
  requests: a.requests - b.requests,
  tokens: a.tokens - b.tokens,
  images: a.images - b.images,
  pixels: a.pixels - b.pixels,
});

export const demandOf = ({ tokens, images }: RequestPlan): Demand => ({
  requests: 1,
  tokens,
  images,
  pixels: images * 1_000_000,
});

export function limitOf(limits: Limits, rate: Rate): number | undefined {
  const { requestsPerMinute, tokensPerMinute, imagesPerMinute, megapixelsPerMinute } = limits;
  const all: Record<Rate, number | undefined> = {
    requests: requestsPerMinute,
    tokens: tokensPerMinute,
    images: imagesPerMinute,
    pixels: megapixelsPerMinute === undefined ? undefined : megapixelsPerMinute * 1_000_000,
  };
  return all[rate];
}
