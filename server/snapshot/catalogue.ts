/**
 * Models known to be served by each kind of upstream, so that a provider's key alone is enough to use it.
 * Few rows that are sure: a model that is missing here can be named in vexel.yaml, a wrong one fails at the caller's.
 */

export interface Known {
  readonly id: string;
  readonly kind: "embedding" | "image";
  /** Absent where the provider's documentation does not say. */
  readonly dimensions?: number;
  /** Absent: the contract's 10. */
  readonly maxImages?: number;
}

const embedding = (id: string, dimensions?: number): Known => ({
  id,
  kind: "embedding",
  ...(dimensions !== undefined && { dimensions }),
});
const image = (id: string, maxImages?: number): Known => ({
  id,
  kind: "image",
  ...(maxImages !== undefined && { maxImages }),
});

// OpenAI's openai@7.53.0 (ImageModel, embeddings). dall-e-2, dall-e-3 and gpt-image-1 are shut down.
const openaiEmbeddings = [
  embedding("text-embedding-3-small", 1536),
  embedding("text-embedding-3-large", 3072),
  embedding("text-embedding-ada-002", 1536),
];

export const catalogue: Readonly<Record<string, readonly Known[]>> = {
  openai: [
    ...openaiEmbeddings,
    image("gpt-image-1-mini"),
    image("gpt-image-1.5"),
    image("gpt-image-2"),
    image("gpt-image-2.5-sunburst"),
    image("gpt-image-2.5-flare"),
    image("gpt-image-2.6-sunburst"),
    image("gpt-image-2.6-flare"),
    image("chatgpt-image-latest"),
  ],
  // MicrosoftDocs/azure-ai-docs, foundry/openai/how-to/dall-e.md. Taken for deployment names when none are given.
  azure: [
    ...openaiEmbeddings,
    image("gpt-image-1-mini"),
    image("gpt-image-1.5"),
    image("gpt-image-2"),
  ],
  // ai.google.dev/gemini-api/docs/models/gemini-embedding-001. No images: of Google's current image models none answers on
  // the OpenAI-compatible path (discuss.ai.google.dev 180711), and gemini-2.5-flash-image is past its shutdown date.
  gemini: [embedding("gemini-embedding-001", 3072)],
  // docs.mistral.ai/capabilities/embeddings/text_embeddings; codestral-embed: vercel.com/ai-gateway/models/codestral-embed.
  mistral: [embedding("mistral-embed", 1024), embedding("codestral-embed")],
  // docs.agno.com/reference/knowledge/embedder/together: the one embedding model left on the serverless list.
  together: [embedding("intfloat/multilingual-e5-large-instruct", 1024)],
  // docs.fireworks.ai/guides/querying-embeddings-models: the one that is served without a deployment of one's own.
  fireworks: [embedding("fireworks/qwen3-embedding-8b", 4096)],
  // deepinfra.com/BAAI/bge-m3/api, /Qwen/Qwen3-Embedding-0.6B/api, /black-forest-labs/FLUX-1-schnell/api;
  // one picture a call: @ai-sdk/deepinfra.
  deepinfra: [
    embedding("BAAI/bge-m3", 1024),
    embedding("Qwen/Qwen3-Embedding-0.6B", 1024),
    image("black-forest-labs/FLUX-1-schnell", 1),
  ],
  // developers.llamaindex.ai/python/examples/embeddings/nebius, docs.langchain.com integrations/providers/nebius.
  nebius: [embedding("BAAI/bge-en-icl", 4096)],
  // milvus.io/docs/v2.6.x/siliconflow.md, oceanbase.ai/docs/siliconflow-py.
  siliconflow: [embedding("BAAI/bge-m3", 1024), embedding("Qwen/Qwen3-Embedding-8B", 4096)],
  // openrouter.ai/<model>/api, each read; sizes as the models' owners give them.
  openrouter: [
    embedding("openai/text-embedding-3-small", 1536),
    embedding("openai/text-embedding-3-large", 3072),
    embedding("google/gemini-embedding-001", 3072),
    embedding("qwen/qwen3-embedding-4b", 2560),
    embedding("qwen/qwen3-embedding-0.6b", 1024),
  ],
  // jina.ai/models/<id>, qdrant.tech/documentation/embeddings/jina-embeddings.
  jina: [
    embedding("jina-embeddings-v5-text-small", 1024),
    embedding("jina-embeddings-v5-text-nano", 768),
    embedding("jina-embeddings-v4", 2048),
    embedding("jina-embeddings-v3", 1024),
  ],
  // ollama.com/search?c=embedding; sizes: docs.praison.ai/docs/embeddings/providers/ollama, embeddinggemma:
  // developers.llamaindex.ai ollama_embedding. Each works once it is pulled there.
  ollama: [
    embedding("nomic-embed-text", 768),
    embedding("mxbai-embed-large", 1024),
    embedding("embeddinggemma", 768),
    embedding("all-minilm", 384),
  ],
};
