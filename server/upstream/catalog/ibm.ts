/** IBM's embedding models: Granite and Slate. */
import { benchmark, catalogRow, type KnownEmbedding, unproven } from "./known-embedding.ts";

const granite = (
  name: string,
  dimensions: number,
  maxTokens: number,
  rest: Partial<KnownEmbedding> = {},
): KnownEmbedding =>
  catalogRow(`granite-embedding-${name}`, dimensions, maxTokens, benchmark, rest);

const slate = (name: string, dimensions: number): KnownEmbedding => ({
  name: `slate-${name}`,
  dimensions,
  maxTokens: 512,
  source: unproven("ibm.com/docs/en/cloud-paks/cp-data/5.0.x?topic=models-supported-embedding"),
});

export const ibm: readonly KnownEmbedding[] = [
  granite("30m-english", 384, 512, {
    also: ["granite-embedding:30m"],
    at: { ollama: ["granite-embedding"] },
  }),
  granite("125m-english", 768, 512),
  granite("107m-multilingual", 384, 512),
  granite("278m-multilingual", 768, 512, { also: ["granite-embedding:278m"] }),
  granite("english-r2", 768, 8192),
  granite("small-english-r2", 384, 8192),
  slate("30m-english-rtrvr", 384),
  slate("125m-english-rtrvr", 768),
];
