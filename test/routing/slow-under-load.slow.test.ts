/** A target above its capacity is slow, not down: its clients wait, and no request is refused. */
import { expect, test } from "bun:test";
import { startGateway, testKey } from "../harness.ts";

const slots = 4;
const workMs = 20;

/** Processes a few requests at a time in FIFO order, like a server with one GPU. */
function startCrowded() {
  const queue: (() => void)[] = [];
  let busy = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 60,
    fetch: async (request) => {
      const { model } = (await request.json()) as { model: string };
      if (++busy > slots) await new Promise<void>((resolve) => queue.push(resolve));
      await Bun.sleep(workMs);
      busy--;
      queue.shift()?.();
      return Response.json({
        object: "list",
        data: [{ object: "embedding", index: 0, embedding: [0.6, 0.8] }],
        model,
        usage: { prompt_tokens: 1, total_tokens: 1 },
      });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/v1`, close: () => server.stop(true) };
}

test("the only target of a model stays in use although its responses take fifty times as long as before", async () => {
  const upstream = startCrowded();
  const gateway = startGateway({
    yaml: `
upstreams: [{ id: crowded, kind: openai-compatible, baseUrl: "${upstream.url}" }]
models: [{ id: m, kind: embedding, batch: false, cache: false, targets: [{ upstream: crowded, model: m }] }]
keys: [{ name: test, key: ${testKey} }]`,
  });
  const statuses = new Map<number, number>();
  const until = performance.now() + 4000;
  const caller = async (name: number): Promise<void> => {
    while (performance.now() < until) {
      const { status } = await gateway.post("/v1/embeddings", { model: "m", input: `of ${name}` });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  try {
    // A few first: it is known to be quick when the others come.
    for (let at = 0; at < 40; at++) {
      await gateway.post("/v1/embeddings", { model: "m", input: `first ${at}` });
    }
    await Promise.all(Array.from({ length: 256 }, (_, name) => caller(name)));
    expect([...statuses.keys()]).toEqual([200]);
    expect(gateway.log()).not.toContain("target-ejected");
  } finally {
    await gateway.close();
    upstream.close();
  }
});
