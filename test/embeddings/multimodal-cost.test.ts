/** What embeddings of images cost: reported, listed and configured prices, limits and budgets. */
import { expect, test } from "bun:test";
import { withEmbeddingPrices } from "../../server/upstream/catalog/prices/model-price.ts";
import {
  dataUrl,
  type EmbeddingsBody,
  imageEntry,
  png,
  startCohere,
  startImageGateway,
} from "./multimodal-fixture.ts";

const image = imageEntry(dataUrl(png(1)));
const embed = (gateway: ReturnType<typeof startImageGateway>, input: unknown, model = "images") =>
  gateway.post("/v1/embeddings", { model, input });

test("texts and images of one request are charged at their own list prices", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  // 100 image tokens at 0.47 and 10 text tokens at 0.12 for a million: the fake reports them.
  await embed(gateway, [image]);
  await embed(gateway, [imageEntry(dataUrl(png(2))), "a text"]);
  await embed(gateway, [image, "a text"]);
  const costs = gateway.rows().map(({ cost }) => cost);
  expect(costs[0]).toBeCloseTo(47e-6, 12);
  expect(costs[1]).toBeCloseTo(48.2e-6, 12);
  // Both vectors are cached.
  expect(costs[2]).toBe(0);
  await gateway.close();
});

test("an image has a configured price by token, by image and by pixel", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere, {
    ofModel: ", price: { input: 1, imageInput: 2, image: 0.5, megapixel: 3 }",
  });
  const entry = {
    content: [
      { type: "text", text: "a" },
      { type: "image_url", image_url: { url: dataUrl(png(3, { claimed: [2000, 1000] })) } },
    ],
  };
  await embed(gateway, [entry]);
  expect(gateway.rows()[0]?.cost).toBeCloseTo(10e-6 + 200e-6 + 0.5 + 6, 9);
  await gateway.close();
});

test("the cost of an image is unknown if only the price of text is configured", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere, { ofModel: ", price: { input: 1 }" });
  await embed(gateway, [image]);
  await embed(gateway, ["a text"]);
  expect(gateway.rows().map(({ cost }) => cost)).toEqual([null, 10e-6]);
  await gateway.close();
});

test("a model that charges for each image needs no token count", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  await embed(gateway, [image, imageEntry(dataUrl(png(2)))], "images-v3");
  expect(gateway.rows()[0]?.cost).toBeCloseTo(0.0002, 12);
  await gateway.close();
});

test("images count against the limits of images and megapixels", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere, {
    ofKey: ", limits: { imagesPerMinute: 4, megapixelsPerMinute: 4 }",
    settings: { VEXEL_QUEUE_TIMEOUT: "0" },
  });
  const statuses = [];
  const large = imageEntry(dataUrl(png(4, { claimed: [3000, 1000] })));
  for (const input of [[image, image], [large], [large], ["a text"]]) {
    statuses.push((await embed(gateway, input)).status);
  }
  expect(statuses).toEqual([200, 200, 429, 200]);
  await gateway.close();
});

test("an image behind a link counts with its own pixels as soon as the request has ended", async () => {
  await using cohere = startCohere();
  const image = png(6, { claimed: [3000, 2000] });
  const files = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(image as Buffer<ArrayBuffer>),
  });
  const gateway = startImageGateway(cohere, {
    ofKey: ", limits: { megapixelsPerMinute: 6 }, budget: { day: 7 }",
    ofModel: ", price: { input: 0, megapixel: 1 }",
    settings: { VEXEL_QUEUE_TIMEOUT: "0", VEXEL_DOWNLOAD_PRIVATE: "127.0.0.1" },
  });
  const link = imageEntry(`http://127.0.0.1:${files.port}/a.png`);
  const small = imageEntry(dataUrl(png(7)));
  // Admitted and reserved as one megapixel, counted and charged as six.
  expect((await embed(gateway, [link])).status).toBe(200);
  expect(gateway.rows()[0]?.cost).toBeCloseTo(6, 9);
  const refused = await embed(gateway, [imageEntry(dataUrl(png(7, { claimed: [2000, 1000] })))]);
  expect([refused.status, (await embed(gateway, [small])).status]).toEqual([429, 200]);
  await gateway.close();
  await files.stop(true);
});

test("without a token count of the upstream, an image behind a link counts as the same image in the request", async () => {
  await using cohere = startCohere({ uncounted: true });
  const bytes = png(8, { claimed: [56, 100] });
  const files = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(bytes as Buffer<ArrayBuffer>),
  });
  const gateway = startImageGateway(cohere, {
    ofKey: ", limits: { tokensPerMinute: 2000 }",
    settings: {
      VEXEL_QUEUE_TIMEOUT: "0",
      VEXEL_DOWNLOAD_PRIVATE: "127.0.0.1",
      VEXEL_CACHE_BYTES: "0",
    },
  });
  // Each link is admitted as 1873 tokens: the second only if the first counts as ten afterwards.
  for (const url of ["/a.png", "/b.png"].map((path) => `http://127.0.0.1:${files.port}${path}`)) {
    const response = await embed(gateway, [imageEntry(url)]);
    expect(response.status).toBe(200);
    expect(response.headers.get("vexel-usage")).toBe("estimated");
    const { usage } = (await response.json()) as EmbeddingsBody;
    expect(usage.prompt_tokens).toBe(10);
  }
  const inside = await embed(gateway, [imageEntry(dataUrl(bytes))]);
  expect(((await inside.json()) as EmbeddingsBody).usage.prompt_tokens).toBe(10);
  await gateway.close();
  await files.stop(true);
});

const listPrices: readonly [string, string, object | undefined][] = [
  ["azure-ai", "embed-v5.0-pro", { tokens: 0.4 }],
  ["cohere", "embed-v5.0-pro", undefined],
  ["cohere", "embed-v4.0", { tokens: 0.47 }],
  ["bedrock", "cohere.embed-v4:0", undefined],
  ["oci", "cohere.embed-v4.0", undefined],
  ["vertex", "multimodalembedding@001", { image: 0.0001 }],
  ["dashscope", "tongyi-embedding-vision-flash", { tokens: 0.03 }],
  ["dashscope", "qwen3-vl-embedding", undefined],
];

test.each(listPrices)("the list price of an image at %s: %s", (kind, model, price) => {
  const upstream = { id: kind, kind, headers: {}, options: {} };
  expect(withEmbeddingPrices({ upstream, model }).imageInputPrice).toEqual(price as never);
  const configured = withEmbeddingPrices({ upstream, model, price: { images: { "": 0.5 } } });
  expect(configured.imageInputPrice).toEqual({ image: 0.5 });
});

test("a budget is charged for images, and refuses them when it is used up", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere, {
    ofKey: ", budget: { day: 1 }",
    ofModel: ", price: { input: 0, image: 0.6 }",
  });
  const first = await embed(gateway, [image]);
  const second = await embed(gateway, [imageEntry(dataUrl(png(5)))]);
  const { error } = (await second.json()) as EmbeddingsBody;
  expect([first.status, second.status, error?.code]).toEqual([200, 429, "insufficient_quota"]);
  expect(cohere.requests).toHaveLength(1);
  await gateway.close();
});
