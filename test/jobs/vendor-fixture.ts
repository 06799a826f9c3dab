/** A fake image vendor with two APIs: a queue, as Replicate has, and one that responds with the image, as OpenAI has. */
import { base64Of, grayImage } from "../conformance/arrange.ts";
import { testKey } from "../harness.ts";

/** Both kinds of vendor: `/v1/images/generations` responds with the image, `/predictions` with a job. */
export function startVendor() {
  const posts: string[] = [];
  const cancels: string[] = [];
  let polls = 0;
  let isDone = false;
  const image = base64Of(grayImage("an otter"));
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request): Promise<Response> => {
      const { pathname, origin } = new URL(request.url);
      if (pathname.endsWith("/cancel")) {
        cancels.push(pathname);
        return Response.json({});
      }
      const id = "p1";
      const urls = { get: `${origin}/v1/jobs/${id}`, cancel: `${origin}/v1/jobs/${id}/cancel` };
      const pending = { id, status: "processing", urls };
      if (request.method === "GET") {
        polls++;
        const output = `data:image/png;base64,${image}`;
        return Response.json(isDone ? { id, status: "succeeded", output, urls } : pending);
      }
      posts.push(pathname);
      if (pathname.includes("predictions")) return Response.json(pending, { status: 201 });
      while (!isDone) await Bun.sleep(10);
      return Response.json({ created: 1, data: [{ b64_json: image }] });
    },
  });
  return {
    origin: server.url.origin,
    posts,
    cancels,
    get polls() {
      return polls;
    },
    finish: () => {
      isDone = true;
    },
    close: () => server.stop(true),
  };
}

/** The model `queued` has a target at the queue, `direct` at the other API, for one request at a time. */
export const vendorConfig = (origin: string): string => `
upstreams:
  - { id: queue, kind: replicate, baseUrl: "${origin}/v1", apiKey: r8-test }
  - { id: direct, kind: openai, baseUrl: "${origin}/v1", apiKey: sk-fake }
models:
  - { id: queued, kind: image, targets: [{ upstream: queue, model: otter/paint, price: { image: 0.1 } }] }
  - { id: direct, kind: image, limits: { concurrent: 1 }, targets: [{ upstream: direct, model: gpt-image-1 }] }
keys:
  - { name: test, key: ${testKey}, budget: { total: 100 } }
`;
