/** Examples for operations of the OpenAPI document. Tests send the requests and validate the responses. */
import type { RouteName } from "../http/routes.ts";

const embeddingsExample = {
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: [0.0023064255, -0.009327292] }],
  model: "all-minilm-l6-v2",
  usage: { prompt_tokens: 5, total_tokens: 5 },
};

export const examples: Partial<Record<RouteName, { request?: unknown; response?: unknown }>> = {
  embeddings: {
    request: { model: "all-minilm-l6-v2", input: ["a red boat", "a small ship"] },
    response: embeddingsExample,
  },
  engineEmbeddings: { request: { input: "a red boat" }, response: embeddingsExample },
  generations: {
    request: {
      model: "vexel-sketch",
      prompt: "a red boat on a calm sea at sunset",
      size: "512x512",
      output_format: "png",
    },
    response: {
      created: 1713833628,
      size: "512x512",
      quality: "medium",
      background: "opaque",
      output_format: "png",
      data: [{ b64_json: "iVBORw0KGgo=" }],
      usage: { total_tokens: 268, input_tokens: 12, output_tokens: 256 },
    },
  },
  edits: {
    request: {
      model: "vexel-sketch",
      prompt: "make it night",
      images: [
        {
          image_url:
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        },
      ],
      size: "256x256",
    },
  },
  models: {
    response: {
      object: "list",
      data: [
        {
          id: "all-minilm-l6-v2",
          object: "model",
          created: 1713833628,
          owned_by: "vexel",
          kind: "embedding",
        },
      ],
    },
  },
  health: { response: { status: "ok" } },
  ready: { response: { status: "ready" } },
};
