/** The fast upstream of the bench, a process of its own: `bun bench/upstream.ts`, prints its port. */

import { uploads } from "./scenarios.ts";

const vector = Buffer.from(
  Float32Array.from({ length: 1536 }, (_, i) => Math.sin(i + 1) / Math.sqrt(768)).buffer,
).toString("base64");

const headers = {
  "content-type": "application/json",
  "access-control-expose-headers": "X-Request-ID",
  "openai-model": "text-embedding-3-small",
  "openai-organization": "org-bench",
  "openai-processing-ms": "23",
  "openai-version": "2020-10-01",
  "strict-transport-security": "max-age=31536000; includeSubDomains; preload",
  "x-ratelimit-limit-requests": "5000",
  "x-ratelimit-limit-tokens": "1000000",
  "x-ratelimit-remaining-requests": "4999",
  "x-ratelimit-remaining-tokens": "999990",
  "x-ratelimit-reset-requests": "12ms",
  "x-ratelimit-reset-tokens": "0s",
  "x-request-id": "req_bench0123456789abcdef01234567",
};

const embedding = JSON.stringify({
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: vector }],
  model: "text-embedding-3-small",
  usage: { prompt_tokens: 9, total_tokens: 9 },
});

// One transparent pixel.
const picture =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const edited = JSON.stringify({
  created: 1_713_833_628,
  background: "opaque",
  output_format: "png",
  quality: "low",
  size: "1024x1024",
  data: [{ b64_json: picture }],
  usage: {
    total_tokens: 466,
    input_tokens: 194,
    output_tokens: 272,
    input_tokens_details: { text_tokens: 0, image_tokens: 194 },
  },
});

/** Bytes per millisecond and upload: slow enough that a proxy which does not wait must hoard. */
const appetite = 16_000;

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  maxRequestBodySize: 1024 * 1024 * 1024,
  routes: {
    "/v1/embeddings": new Response(embedding, { headers }),
    "/v1/images/edits": async (request: Request) => {
      const started = performance.now();
      let eaten = 0;
      for await (const piece of request.body ?? []) {
        eaten += piece.length;
        const early = eaten / appetite - (performance.now() - started);
        if (early > 2) await Bun.sleep(early);
      }
      const whole = eaten > uploads.megabytes * 1_000_000;
      return new Response(whole ? edited : `only ${eaten} bytes came`, {
        status: whole ? 200 : 400,
        headers: { ...headers, "openai-model": "gpt-image-2" },
      });
    },
  },
  fetch: () => new Response("not here", { status: 404 }),
});

console.log(server.port);
