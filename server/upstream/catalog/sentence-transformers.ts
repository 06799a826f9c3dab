/** The sentence-transformers project's models. Prices as listed by DeepInfra on 2026-02-20 in chonkie-inc/catsu. */
import { benchmark, catalogRow, type KnownEmbedding } from "./known-embedding.ts";

const cheap = { deepinfra: 0.005 };

const sbert = (
  name: string,
  dimensions: number,
  maxTokens: number,
  rest: Partial<KnownEmbedding> = {},
): KnownEmbedding => catalogRow(name, dimensions, maxTokens, benchmark, rest);

export const sentenceTransformers: readonly KnownEmbedding[] = [
  sbert("all-minilm-l6-v2", 384, 256, {
    also: ["all-minilm", "all-minilm:22m", "all-minilm:l6-v2", "all-minilm:22m-l6-v2"],
    price: cheap,
  }),
  sbert("all-minilm-l12-v2", 384, 256, {
    also: ["all-minilm:33m", "all-minilm:l12-v2", "all-minilm:33m-l12-v2"],
    price: cheap,
  }),
  sbert("all-mpnet-base-v2", 768, 384, { price: cheap }),
  sbert("paraphrase-multilingual-mpnet-base-v2", 768, 512, {
    at: { ollama: ["paraphrase-multilingual", "paraphrase-multilingual:278m"] },
  }),
  sbert("paraphrase-multilingual-minilm-l12-v2", 384, 512),
  sbert("multi-qa-mpnet-base-dot-v1", 768, 512),
];
