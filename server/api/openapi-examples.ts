/** One example per operation of the OpenAPI document. Tests send the requests and validate the responses. */
import type { RouteName } from "../http/routes.ts";

export const examples: Partial<Record<RouteName, { request?: unknown; response?: unknown }>> = {
  embeddings: {
    request: { model: "all-minilm-l6-v2", input: ["a red boat", "a small ship"] },
    response: {
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [0.0023064255, -0.009327292] }],
      model: "all-minilm-l6-v2",
      usage: { prompt_tokens: 5, total_tokens: 5 },
    },
  },
  engineEmbeddings: {
    request: { input: "a red boat" },
    response: {
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [0.0023064255, -0.009327292] }],
      model: "all-minilm-l6-v2",
      usage: { prompt_tokens: 5, total_tokens: 5 },
    },
  },
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
  adminEvents: {
    response: {
      object: "list",
      data: [
        {
          object: "event",
          id: "evt_01a1dd19c6c876f6b1cff7e655b76166",
          type: "key.created",
          timestamp: "2026-11-15T02:46:56.465Z",
          data: { id: "key_0a1b2c3d4e5f6071", name: "studio", models: ["*"] },
          deliveries: [
            {
              webhook: "wh_5f1d3c9a0b7e2468",
              state: "delivered",
              attempts: 1,
              last_attempt_at: "2026-11-15T02:46:56.501Z",
              next_attempt_at: null,
              status: 200,
              problem: null,
            },
          ],
        },
      ],
      last_id: "evt_01a1dd19c6c876f6b1cff7e655b76166",
      has_more: false,
    },
  },
  adminWebhooks: {
    response: {
      object: "list",
      data: [
        {
          object: "webhook",
          id: "wh_5f1d3c9a0b7e2468",
          url: "https://alerts.example.com/vexel",
          events: ["budget.*", "target.*"],
          state: "active",
          waiting: 0,
          delivered: 12,
          abandoned: 0,
          consecutive_failures: 0,
          last_attempt: {
            event: "evt_01a1dd19c6c876f6b1cff7e655b76166",
            at: "2026-11-15T02:46:56.501Z",
            delivered: true,
            status: 200,
            problem: null,
          },
        },
      ],
    },
  },
  adminWebhookTest: {
    response: {
      object: "webhook.test",
      webhook: "wh_5f1d3c9a0b7e2468",
      event: "evt_01a1dd19c6c876f6b1cff7e655b76166",
      delivered: false,
      status: 500,
      problem: "response status 500",
      duration_ms: 31,
    },
  },
  health: { response: { status: "ok" } },
  ready: { response: { status: "ready" } },
};
