/** A paid image is delivered when the image worker dies after the upstream has generated it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import OpenAI from "openai";
import { base64Of, grayImage } from "../conformance/arrange.ts";
import { testKey } from "../harness.ts";
import { startImageGateway } from "./image-gateway-fixture.ts";

let paid = 0;
const png = base64Of(grayImage("an otter"));
const { gateway, generate } = startImageGateway({
  model: "image",
  respond: async (request) => {
    paid++;
    const { stream, n = 1 } = (await request.json()) as { stream?: boolean; n?: number };
    const data = Array.from({ length: n }, () => ({ b64_json: png }));
    if (!stream) return Response.json({ created: 1, data });
    const event = { type: "image_generation.completed", b64_json: png, created_at: 1 };
    return new Response(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`, {
      headers: { "content-type": "text/event-stream" },
    });
  },
  yaml: (url) => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}/v1", apiKey: sk-fake }
models:
  - { id: image, kind: image, targets: [{ upstream: fake, model: gpt-image-1 }] }`,
});

const imageWorkers = (): number[] =>
  readFileSync(`/proc/self/task/${process.pid}/children`, "utf8")
    .trim()
    .split(" ")
    .filter((pid) => commandOf(pid).includes("workers/image/child"))
    .map(Number);

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // It has ended.
  }
}

// A process takes longer to start than this interval, so none lives long enough to convert an image.
let killing: ReturnType<typeof setInterval>;
beforeAll(() => {
  killing = setInterval(() => {
    for (const pid of imageWorkers()) process.kill(pid, "SIGKILL");
  }, 1);
});
afterAll(() => clearInterval(killing));

/** With the retries that the SDK has by default. */
const client = new OpenAI({ baseURL: gateway.baseURL, apiKey: testKey });

test("the official SDK gets the image as the upstream sent it, and the upstream generates it once", async () => {
  paid = 0;
  const { data, response } = await client.images
    .generate({ model: "image", prompt: "x", output_format: "webp", output_compression: 50 })
    .withResponse();
  expect(paid).toBe(1);
  expect(data).toMatchObject({ output_format: "png", data: [{ b64_json: png }] });
  expect(response.headers.get("vexel-dropped")).toBe("output_format, output_compression");
  expect(response.headers.get("vexel-adapted")).toBeNull();
  expect(gateway.rows().at(-1)).toMatchObject({ status: 200, images: 1 });
  expect(gateway.rows().at(-1)?.steps).toContain("image not converted: overloaded");
});

test("a stream ends with the image as the upstream sent it, and the upstream generates it once", async () => {
  paid = 0;
  const stream = await client.images.generate({
    model: "image",
    prompt: "x",
    output_format: "webp",
    stream: true,
  });
  const events = await Array.fromAsync(stream);
  expect(paid).toBe(1);
  expect(events).toMatchObject([
    { type: "image_generation.completed", b64_json: png, output_format: "png" },
  ]);
});

test("several images are delivered as the upstream sent them", async () => {
  paid = 0;
  const response = await generate({ n: 2, output_format: "jpeg" });
  expect(paid).toBe(1);
  expect(response.status).toBe(200);
  expect(response.headers.get("vexel-dropped")).toBe("output_format");
  expect(response.headers.get("vexel-missing")).toBeNull();
  expect(await response.json()).toMatchObject({
    output_format: "png",
    data: [{ b64_json: png }, { b64_json: png }],
  });
});
