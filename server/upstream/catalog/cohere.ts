/** Cohere's embedding models. Sources of prices: price-sources.ts. */
import { catalogRow, confirmed, type KnownEmbedding, unproven } from "./known-embedding.ts";

const page = "docs.cohere.com/docs/cohere-embed";

/** BerriAI/litellm 1.109.1, 2026-11-17: input_cost_per_image. */
const v3Images = { cohere: { image: 0.0001 }, "azure-ai": { image: 0.0001 } } as const;

/** Azure and Hugging Face prefix the owner's name, Bedrock omits `.0`. */
const v3 = (what: "english" | "multilingual"): KnownEmbedding =>
  catalogRow(`embed-${what}-v3.0`, 1024, 512, confirmed(page), {
    imagePrice: v3Images,
    also: [`embed-${what}-v3`, `cohere-embed-${what}-v3.0`, `cohere-embed-v3-${what}`],
    price: { cohere: 0.1, bedrock: 0.1, "azure-ai": 0.1, oci: 0.1 },
  });

const light = (what: "english" | "multilingual"): KnownEmbedding =>
  catalogRow(`embed-${what}-light-v3.0`, 384, 512, unproven(page), {
    also: [`embed-${what}-light-v3`, `cohere-embed-${what}-light-v3.0`],
    price: { cohere: 0.1, oci: 0.1 },
  });

/** OCI's names of the models that read images, or texts. Whether they are the weights of Embed 3 is not documented. */
const ociImage = (name: string, dimensions: number): KnownEmbedding =>
  catalogRow(
    `embed-${name}-image-v3.0`,
    dimensions,
    512,
    "litellm 1.109.1, model_prices_and_context_window.json, read on 2026-11-17",
    { price: { oci: 0.1 } },
  );

/**
 * According to Cohere, both share one vector space. Their vectors are not identical: switching from one to the other
 * changes distances, so a configuration that uses both must set `sameSpace`.
 */
const v5 = (what: "pro" | "fast", price: number): KnownEmbedding => ({
  name: `embed-v5.0-${what}`,
  also: [`embed-v5-${what}`, `cohere-embed-v5-${what}`, `embed-5-${what}`],
  dimensions: 2048,
  matryoshka: [256, 512, 768, 1024, 1536],
  maxTokens: 128_000,
  price: { cohere: price, "azure-ai": price, openrouter: price },
  // BerriAI/litellm 1.109.1, 2026-11-17: 0.40 for a million image tokens on Azure. Cohere's own price is not known.
  imagePrice: { "azure-ai": { tokens: 0.4 } },
  source: "docs.cohere.com/changelog/embed-v5, 2026-09-30",
});

export const cohere: readonly KnownEmbedding[] = [
  v5("pro", 0.12),
  v5("fast", 0.08),
  catalogRow("embed-v4.0", 1536, 128_000, confirmed(page), {
    also: ["embed-v4", "embed-v-4-0", "cohere-embed-v-4-0", "cohere-embed-v4"],
    matryoshka: [256, 512, 1024],
    price: { cohere: 0.12, bedrock: 0.12, "azure-ai": 0.12, oci: 0.12 },
    // BerriAI/litellm 1.109.1, 2026-11-17: 0.47 for a million image tokens.
    imagePrice: { cohere: { tokens: 0.47 }, "azure-ai": { tokens: 0.47 } },
  }),
  v3("english"),
  v3("multilingual"),
  light("english"),
  light("multilingual"),
  ociImage("english", 1024),
  ociImage("multilingual", 1024),
  ociImage("english-light", 384),
  ociImage("multilingual-light", 384),
];
