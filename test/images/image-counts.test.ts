/** As many images as requested: not more, and not fewer because a server ignores `n`. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { base64Of, grayImage } from "../conformance/arrange.ts";
import { startGateway, testKey } from "../harness.ts";

interface SentRequest {
  readonly n?: number;
  readonly seed?: number;
}

const requested: SentRequest[] = [];
let imagesFor: (body: SentRequest, call: number) => number | Response = () => 1;
const fake = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const body = (await request.json()) as SentRequest;
    const call = requested.push(body) - 1;
    const images = imagesFor(body, call);
    if (typeof images !== "number") return images;
    const data = Array.from({ length: images }, (_, at) => ({
      b64_json: base64Of(grayImage(`${call}/${at}`)),
    }));
    return Response.json({ created: 1, data });
  },
});
const target = "[{ upstream: fake, model: custom-image-model }]";
const yaml = `
upstreams: [{ id: fake, kind: openai-compatible, baseUrl: "http://127.0.0.1:${fake.port}/v1" }]
models:
  - { id: image-model, kind: image, targets: ${target}, price: { image: 0.5 } }
  - { id: strict, kind: image, parameters: strict, targets: ${target} }
  - { id: pass, kind: image, parameters: pass, targets: ${target} }
keys: [{ name: test, key: ${testKey} }]
`;
const start = () => startGateway({ yaml });
let gateway = start();
beforeEach(async () => {
  // A new gateway for each test: a gateway records that a server generates one image per request.
  await gateway.close();
  gateway = start();
  requested.length = 0;
  imagesFor = () => 1;
});
afterAll(async () => {
  await gateway.close();
  await fake.stop(true);
});

const generate = async (body: object) => {
  const response = await gateway.post("/v1/images/generations", {
    model: "image-model",
    prompt: "x",
    ...body,
  });
  const upstreamResponse = (await response.json()) as { data?: { b64_json: string }[] };
  const images = (upstreamResponse.data ?? []).map(({ b64_json }) => b64_json);
  return { response, images, missing: response.headers.get("vexel-missing") };
};

describe("a server that generates one image, whatever n says", () => {
  test("is called for each other image, each with its own seed, and a header says so", async () => {
    const { response, images, missing } = await generate({ n: 4, seed: 7 });
    expect(new Set(images).size).toBe(4);
    expect(missing).toBeNull();
    expect(response.headers.get("vexel-adapted")).toBe("n");
    expect(requested.map(({ n }) => n)).toEqual([4, undefined, undefined, undefined]);
    expect(new Set(requested.map(({ seed }) => seed)).size).toBe(4);
    expect(gateway.rows().at(-1)).toMatchObject({ images: 4, cost: 2 });
  });

  test("is known from then on, and not called for several images again", async () => {
    await generate({ n: 2 });
    requested.length = 0;
    const { images } = await generate({ n: 3 });
    expect(images).toHaveLength(3);
    expect(requested.map(({ n }) => n)).toEqual([undefined, undefined, undefined]);
  });

  test("delivers its images when a further request fails, and the response says why the rest is missing", async () => {
    imagesFor = (_, call) => (call === 0 ? 1 : Response.json({ error: {} }, { status: 429 }));
    const { response, images, missing } = await generate({ n: 2 });
    expect(response.status).toBe(200);
    expect(images).toHaveLength(1);
    expect(missing).toBe("1; error=upstream_rate_limit");
  });

  test.each(["strict", "pass"])("is called once where the policy is %s", async (model) => {
    const { images, missing } = await generate({ model, n: 3 });
    expect(images).toHaveLength(1);
    expect(missing).toBe("2; error=upstream_invalid");
    expect(requested).toHaveLength(1);
  });
});

test("a server that generates several images, but not all, supports n: the others are reported as missing", async () => {
  imagesFor = ({ n = 1 }) => n - 1;
  const { images, missing } = await generate({ n: 3 });
  expect(images).toHaveLength(2);
  expect(missing).toBe("1; error=upstream_invalid");
  expect(requested).toHaveLength(1);
});

test("images beyond the requested number are not delivered; the ledger has the number delivered, and the cost of all", async () => {
  imagesFor = ({ n = 1 }) => n + 2;
  const { images, missing } = await generate({ n: 2 });
  expect(images).toEqual([base64Of(grayImage("0/0")), base64Of(grayImage("0/1"))]);
  expect(missing).toBeNull();
  expect(gateway.rows().at(-1)).toMatchObject({ images: 2, cost: 2 });
});

test("a stream that is assembled from several responses has as many images as requested", async () => {
  imagesFor = (_, call) => (call === 0 ? 1 : 3);
  const body = { model: "image-model", prompt: "x", n: 2, stream: true };
  const events = await (await gateway.post("/v1/images/generations", body)).text();
  expect(events.match(/^event: image_generation\.completed$/gm)).toHaveLength(2);
  expect(gateway.rows().at(-1)).toMatchObject({ status: 200, images: 2 });
});

test("a client that omits n, and requests several by a vendor field, gets all images", async () => {
  imagesFor = () => 3;
  const { images, missing } = await generate({ sequential_image_generation: "auto" });
  expect(images).toHaveLength(3);
  expect(missing).toBeNull();
});
