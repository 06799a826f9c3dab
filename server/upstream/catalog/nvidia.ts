/** NVIDIA's embedding models, as its NIM serves them. */
import { benchmark, catalogRow, type KnownEmbedding, unproven } from "./known-embedding.ts";

const source = unproven(
  "docs.nvidia.com/nim/nemo-retriever/text-embedding/latest/support-matrix.html",
);
const nested = [384, 512, 768, 1024];

export const nvidia: readonly KnownEmbedding[] = [
  catalogRow("nv-embedqa-e5-v5", 1024, 512, source),
  catalogRow("nv-embedqa-mistral-7b-v2", 4096, 512, source),
  catalogRow("llama-3.2-nv-embedqa-1b-v2", 2048, 8192, source, { matryoshka: nested }),
  // Probably the model above under a new name: version and size are the same. NVIDIA does not document it.
  catalogRow("llama-nemotron-embed-1b-v2", 2048, 8192, source, { matryoshka: nested }),
  catalogRow("llama-nemotron-embed-300m-v2", 2048, 8192, source),
  // Texts and images.
  catalogRow(
    "llama-nemotron-embed-vl-1b-v2",
    2048,
    32_000,
    "docs.venice.ai/models/nemotron-embed-vl-1b-v2, read on 2026-11-18",
    { at: { venice: ["text-embedding-nemotron-embed-vl-1b-v2"] }, price: { venice: 0.0125 } },
  ),
  // Its successor. Shorter vectors are supported, but they are not documented to be prefixes (Matryoshka).
  catalogRow(
    "nemotron-3.5-embed-1b",
    2048,
    32_768,
    "docs.nvidia.com/nim/nemo-retriever/embedding/2.4/support-matrix.html, read on 2026-11-18",
  ),
  catalogRow("nemotron-3-embed-1b", 2048, 4096, source),
  catalogRow("nv-embed-v1", 4096, 32_768, benchmark),
  catalogRow("nv-embed-v2", 4096, 32_768, benchmark),
  catalogRow("llama-embed-nemotron-8b", 4096, 32_768, benchmark),
];
