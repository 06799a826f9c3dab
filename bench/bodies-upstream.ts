/**
 * A worker thread with an upstream for `bodies.ts`: one vector for each text or token array. It runs in its own thread,
 * so that parsing and serializing here does not delay the measurement.
 */
declare const self: Worker;

/** Short, because the bench measures the request and not the response. */
const embedding = Array<number>(8).fill(0.25);

const upstream = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  maxRequestBodySize: 100_000_000,
  fetch: async (incoming) => {
    const { model, input } = (await incoming.json()) as { model: string; input: unknown };
    const count = Array.isArray(input) && typeof input[0] !== "number" ? input.length : 1;
    const data = Array.from({ length: count }, (_, index) => ({
      object: "embedding",
      index,
      embedding,
    }));
    const usage = { prompt_tokens: count, total_tokens: count };
    return Response.json({ object: "list", model, data, usage });
  },
});

self.postMessage(upstream.url.origin);
