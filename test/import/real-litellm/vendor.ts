/** A fake vendor whose vectors depend on the model and the text, so that another model's vectors are noticed. */
import { knownEmbedding } from "../../../server/upstream/catalog/index.ts";
import { fakeImage } from "../../fake-upstream.ts";

const ownLength = 384;

export function startVendor() {
  let requests = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    fetch: async (request) => {
      // LiteLLM lists the vendor's models by itself.
      if (request.method === "GET") return Response.json({ object: "list", data: [] });
      requests += 1;
      const body = (await request.json()) as Record<string, unknown>;
      const model = String(body.model);
      if (!request.url.endsWith("/embeddings"))
        return Response.json({ created: 1, data: [{ b64_json: imageText }] });
      const given = body.input;
      const inputs = Array.isArray(given) ? given : [given];
      const data = inputs.map((input, index) => {
        const vector = vectorOf(model, JSON.stringify(input));
        const embedding =
          body.encoding_format === "base64"
            ? Buffer.from(vector.buffer).toString("base64")
            : [...vector];
        return { object: "embedding", index, embedding };
      });
      const usage = { prompt_tokens: inputs.length, total_tokens: inputs.length };
      return Response.json({ object: "list", model, data, usage });
    },
  });
  return {
    url: `${server.url.origin}/v1`,
    /** How many embeddings and images were asked for. */
    requests: (): number => requests,
    close: () => server.stop(true),
  };
}

const imageText = Buffer.from(
  fakeImage("a", 0, { format: "png", width: 1024, height: 1024 }),
).toString("base64");

function vectorOf(model: string, input: string): Float32Array<ArrayBuffer> {
  let state = Bun.hash.crc32(`${model} ${input}`);
  const length = knownEmbedding(model)?.dimensions ?? ownLength;
  const wide = Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
  const norm = Math.hypot(...wide);
  return wide.map((value) => value / norm);
}
