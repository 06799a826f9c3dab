/** NVIDIA's embedding models, as its NIM serves them. */
import { benchmark, type KnownEmbedding, unproven } from "./known-embedding.ts";

const source = unproven(
  "docs.nvidia.com/nim/nemo-retriever/text-embedding/latest/support-matrix.html",
);
const nested = [384, 512, 768, 1024];

export const nvidia: readonly KnownEmbedding[] = [
  { name: "nv-embedqa-e5-v5", dimensions: 1024, maxTokens: 512, source },
  { name: "nv-embedqa-mistral-7b-v2", dimensions: 4096, maxTokens: 512, source },
  {
    name: "llama-3.2-nv-embedqa-1b-v2",
    dimensions: 2048,
    matryoshka: nested,
    maxTokens: 8192,
    source,
  },
  {
    // Probably the model above under a new name: version and size are the same. NVIDIA does not document it.
    name: "llama-nemotron-embed-1b-v2",
    dimensions: 2048,
    matryoshka: nested,
    maxTokens: 8192,
    source,
  },
  { name: "llama-nemotron-embed-300m-v2", dimensions: 2048, maxTokens: 8192, source },
  { name: "nemotron-3-embed-1b", dimensions: 2048, maxTokens: 4096, source },
  {
    name: "nv-embed-v1",
    dimensions: 4096,
    maxTokens: 32_768,
    source: benchmark,
  },
  {
    name: "nv-embed-v2",
    dimensions: 4096,
    maxTokens: 32_768,
    source: benchmark,
  },
  {
    name: "llama-embed-nemotron-8b",
    dimensions: 4096,
    maxTokens: 32_768,
    source: benchmark,
  },
];
