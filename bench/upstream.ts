/** The upstream of the bench, a process of its own: `bun bench/upstream.ts`, prints its port. */

import { answerAtOnce, answerInSlots, createTally, headers } from "./embeddings.ts";
import { calm, crowded, uploads } from "./scenarios.ts";

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

const { count, read } = createTally();

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  maxRequestBodySize: 1024 * 1024 * 1024,
  routes: {
    "/tally": () => Response.json(read()),
    "/v1/embeddings": count(answerAtOnce),
    "/crowded/v1/embeddings": count(answerInSlots(crowded)),
    "/calm/v1/embeddings": count(answerInSlots(calm)),
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
