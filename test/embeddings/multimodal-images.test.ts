/** The images of embeddings requests: where they come from, which are refused, and what happens to their formats. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { encodeImage } from "../fake-upstream/fake-image.ts";
import { startFake } from "../fake-upstream.ts";
import { type TestGateway, testKey } from "../harness.ts";
import {
  dataUrl,
  type EmbeddingsBody,
  type FakeCohere,
  imageEntry,
  imagePart,
  png,
  startCohere,
  startImageGateway,
  vectorOf,
} from "./multimodal-fixture.ts";

const bodyOf = async (response: Promise<Response>): Promise<EmbeddingsBody> =>
  (await response).json() as Promise<EmbeddingsBody>;

let cohere: FakeCohere;
let gateway: TestGateway;
beforeAll(() => {
  cohere = startCohere();
  gateway = startImageGateway(cohere, {
    settings: { VEXEL_DOWNLOAD_PRIVATE: "127.0.0.1" },
    downloadTimeoutMs: 2000,
    upstreams: `  - { id: gemini, kind: gemini, baseUrl: "${cohere.url}", apiKey: g-fake }`,
    models: `  - { id: gemini, kind: embedding, targets: [{ upstream: gemini, model: gemini-embedding-2 }] }`,
  });
});
afterAll(async () => {
  await gateway.close();
  await cohere[Symbol.asyncDispose]();
});

const ask = (input: unknown, model = "images", headers = {}) =>
  gateway.post("/v1/embeddings", { model, input }, headers);

/** Serves one image under any path, and counts the requests. */
function serveImage(image: Uint8Array) {
  const paths: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      paths.push(new URL(request.url).pathname);
      return new Response(image as Uint8Array<ArrayBuffer>);
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    paths,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

test("an image embedding is cached by its bytes, whichever link delivered it", async () => {
  const image = png(1);
  await using files = serveImage(image);
  const before = cohere.requests.length;
  const expected = vectorOf([imagePart(image)]);
  for (const url of [`${files.url}/a.png`, `${files.url}/b.jpg?signature=1`, dataUrl(image)]) {
    const { data } = await bodyOf(ask([imageEntry(url)]));
    expect(data[0]?.embedding).toEqual(expected);
  }
  expect(cohere.requests.length - before).toBe(1);
  expect(files.paths).toEqual(["/a.png", "/b.jpg"]);
});

test("a link that delivers another image later gets another vector", async () => {
  const images = [png(2), png(3)];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(images.shift() as Buffer<ArrayBuffer>),
  });
  const link = imageEntry(`http://127.0.0.1:${server.port}/today.png`);
  const first = await bodyOf(ask([link]));
  const second = await bodyOf(ask([link]));
  expect(first.data[0]?.embedding).toEqual(vectorOf([imagePart(png(2))]));
  expect(second.data[0]?.embedding).toEqual(vectorOf([imagePart(png(3))]));
  await server.stop(true);
});

test("the same link in one request is downloaded once", async () => {
  await using files = serveImage(png(4));
  const link = imageEntry(`${files.url}/x.png`);
  const { data } = await bodyOf(ask([link, link, link]));
  expect(data).toHaveLength(3);
  expect(files.paths).toHaveLength(1);
});

test("an error of an image that is sent several times names its first entry", async () => {
  const broken = imageEntry(dataUrl(Buffer.from("no image")));
  const { error } = await bodyOf(ask(["a text", broken, broken, broken]));
  expect(error?.param).toBe("input[1].content[0].image_url");
});

test("an upstream gets the bytes of an image, never the client's link", async () => {
  await using files = serveImage(png(5));
  await bodyOf(ask([imageEntry(`${files.url}/secret-path.png`)]));
  expect(JSON.stringify(cohere.requests)).not.toContain("secret-path");
});

test("images larger than what is kept in memory are sent unchanged", async () => {
  // More than the eight that temp storage keeps in memory.
  const images = Array.from({ length: 12 }, (_, at) => png(20 + at, { padding: 300_000 }));
  const { data } = await bodyOf(ask(images.map((image) => imageEntry(dataUrl(image)))));
  expect(data.map(({ embedding }) => embedding)).toEqual(
    images.map((image) => vectorOf([imagePart(image)])),
  );
});

test("an image in a format that the vendor refuses is converted, and reported as adapted", async () => {
  await using server = startCohere();
  const gemini = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { content } = (await request.json()) as {
        content: { parts: { inlineData: { mimeType: string; data: string } }[] };
      };
      const { mimeType, data } = content.parts[0]!.inlineData;
      const isPng = Buffer.from(data, "base64").subarray(1, 4).toString() === "PNG";
      return Response.json({
        embedding: { values: mimeType === "image/png" && isPng ? [1, 0.5] : [0.5, 1] },
      });
    },
  });
  const adapting = startImageGateway(server, {
    models: `  - { id: gemini, kind: embedding, dimensions: 2, targets: [{ upstream: gemini, model: gemini-embedding-2 }] }`,
    upstreams: `  - { id: gemini, kind: gemini, baseUrl: "http://127.0.0.1:${gemini.port}", apiKey: g-fake }`,
  });
  const webp = encodeImage({ format: "webp", width: 8, height: 8, shade: 90 });
  // The second response comes from the cache, with the same header.
  for (let time = 0; time < 2; time++) {
    const response = await adapting.post("/v1/embeddings", {
      model: "gemini",
      input: [imageEntry(dataUrl(webp, "image/png"))],
    });
    expect(response.headers.get("vexel-adapted")).toBe("input");
    const { data } = (await response.json()) as EmbeddingsBody;
    expect(data[0]?.embedding).toEqual([1, 0.5]);
  }
  await adapting.close();
  await gemini.stop(true);
});

test("an image that the gateway generated is embedded by its link, with and without the host", async () => {
  await using server = startCohere();
  const fake = startFake();
  const generating = startImageGateway(server, {
    upstreams: `  - { id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }`,
    models: `  - { id: gpt-image-2, kind: image, targets: [{ upstream: fake, model: gpt-image-2 }] }`,
  });
  const generated = await generating.post("/v1/images/generations", {
    model: "gpt-image-2",
    prompt: "an otter",
    response_format: "url",
  });
  const { data: images } = (await generated.json()) as { data: { url: string }[] };
  const { url } = images[0]!;
  const bytes = await (await fetch(url)).bytes();
  const { pathname, search } = new URL(url);
  for (const link of [url, pathname + search]) {
    const { data } = await bodyOf(
      generating.post("/v1/embeddings", { model: "images", input: [imageEntry(link)] }),
    );
    expect(data[0]?.embedding).toEqual(vectorOf([imagePart(bytes)]));
  }
  // The name alone gives no access.
  const refused = await generating.post("/v1/embeddings", {
    model: "images",
    input: [imageEntry(pathname)],
  });
  expect(refused.status).toBe(400);
  await generating.close();
  fake.close();
});

describe("an image is refused before anything is billed:", () => {
  const big = png(9, { padding: 6_000_000 });
  test.each<[string, unknown, string, RegExp]>([
    [
      "a pixel bomb",
      imageEntry(dataUrl(png(9, { claimed: [65_535, 65_535] }))),
      "images",
      /65535x65535 pixels/,
    ],
    ["an image of 0 bytes", { image: "" }, "images", /it is empty/],
    [
      "text that is called an image",
      imageEntry(dataUrl(Buffer.from("hello"))),
      "images",
      /not an image/,
    ],
    [
      "a data URL that is not base64",
      imageEntry("data:image/png,%89PNG"),
      "images",
      /must look like/,
    ],
    [
      "an SVG",
      imageEntry(dataUrl(Buffer.from("<svg xmlns='x'/>"), "image/svg+xml")),
      "images",
      /not an image/,
    ],
    [
      "an image whose header is cut off",
      imageEntry(dataUrl(png(9).subarray(0, 20))),
      "images",
      /size cannot be read/,
    ],
    [
      "more bytes than the model takes",
      imageEntry(dataUrl(big)),
      "images-v3",
      /6000\d+ bytes, and the model takes at most 5000000/,
    ],
    ["1,000 images", Array(1000).fill({ image: "AAAA" }), "images", /more than 256 images/],
    [
      "a link to the metadata service of a cloud",
      imageEntry("http://169.254.169.254/latest/meta-data"),
      "images",
      /cannot be used/,
    ],
    [
      "a link to a private network",
      imageEntry("https://10.0.0.1/a.png"),
      "images",
      /cannot be used/,
    ],
    ["a link of another scheme", { image: "ftp://a.test/b.png" }, "images", /must be a data: URL/],
    [
      "a video",
      { content: [{ type: "video_url", video_url: { url: "https://a.test/b.mp4" } }] },
      "images",
      /part \(0\) of an unsupported type/,
    ],
    [
      "a detail that no vendor gets",
      { content: [{ type: "image_url", image_url: { url: dataUrl(big), detail: "low" } }] },
      "images",
      /unknown member 'detail'/,
    ],
    [
      "a file on the gateway's disk",
      imageEntry("file:///etc/passwd"),
      "images",
      /must be a data: URL/,
    ],
    [
      "an expired link of this gateway",
      imageEntry("/files/images/img_x.png?expires=1&signature=x"),
      "images",
      /has expired/,
    ],
  ])("%s", async (_, input, model, message) => {
    const before = cohere.requests.length;
    const response = await ask(input, model);
    const { error } = (await response.json()) as EmbeddingsBody;
    expect([response.status, error?.message]).toEqual([400, expect.stringMatching(message)]);
    expect(cohere.requests.length).toBe(before);
  });

  test("a link whose host never responds", async () => {
    const silent = Bun.listen({
      port: 0,
      hostname: "127.0.0.1",
      socket: { data: () => undefined },
    });
    const response = await ask([imageEntry(`http://127.0.0.1:${silent.port}/a.png`)]);
    const { error } = (await response.json()) as EmbeddingsBody;
    expect([response.status, error?.message]).toEqual([
      400,
      expect.stringContaining("longer than 2 seconds"),
    ]);
    expect(error?.param).toBe("input[0].content[0].image_url");
    silent.stop(true);
  });
});

test("an error names the entry by the client's index, wherever it stands among texts", async () => {
  const big = dataUrl(png(9, { padding: 6_000_000 }));
  const { error } = await bodyOf(ask(["a", { image: big }, "b"], "images-v3"));
  expect(error?.message).toContain("Entry 1 cannot be embedded");
  const broken = await bodyOf(ask(["a", { image: "AAAA" }, "b"]));
  expect(broken.error?.param).toBe("input[1].image");
});

test("more images than the model takes in one entry are refused", async () => {
  const content = Array(7).fill({ type: "image_url", image_url: { url: dataUrl(png(11)) } });
  const { error } = await bodyOf(ask([{ content }], "gemini"));
  expect(error?.message).toContain("has 7 images, and the model takes at most 6 in one entry");
});

test("the model list says which models read images", async () => {
  const response = await fetch(`${gateway.baseURL}/models`, {
    headers: { authorization: `Bearer ${testKey}` },
  });
  const { data } = (await response.json()) as {
    data: { id: string; input_modalities?: string[] }[];
  };
  const readers = data.filter(({ input_modalities: modalities }) => modalities?.includes("image"));
  expect(readers.map(({ id }) => id)).toEqual(["images", "images-v3", "gemini"]);
});
