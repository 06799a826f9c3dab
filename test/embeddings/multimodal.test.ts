/** Embeddings of images and of texts with images: what clients may rely on. */
import { expect, test } from "bun:test";
import Ajv from "ajv/dist/2020";
import {
  dataUrl,
  type EmbeddingsBody,
  imageEntry,
  imagePart,
  png,
  startCohere,
  startImageGateway,
  vectorOf,
} from "./multimodal-fixture.ts";

const red = png(10);
const blue = png(200);

const bodyOf = async (response: Promise<Response>): Promise<EmbeddingsBody> =>
  (await response).json() as Promise<EmbeddingsBody>;

test("an entry with texts and images gives one vector, in the order of its parts", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  const { data, usage } = await bodyOf(
    gateway.post("/v1/embeddings", {
      model: "images",
      input: [
        {
          content: [
            { type: "text", text: "a red dot" },
            { type: "image_url", image_url: { url: dataUrl(red) } },
            { type: "text", text: "seen from above" },
          ],
        },
      ],
    }),
  );
  expect(data.map(({ embedding }) => embedding)).toEqual([
    vectorOf(["text a red dot", imagePart(red), "text seen from above"]),
  ]);
  expect(usage).toEqual({
    prompt_tokens: 120,
    total_tokens: 120,
    prompt_tokens_details: { text_tokens: 20, image_tokens: 100 },
  } as never);
  await gateway.close();
});

test("texts and images of one request keep the client's order", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  const { data } = await bodyOf(
    gateway.post("/v1/embeddings", {
      model: "images",
      input: [imageEntry(dataUrl(red)), "a text", imageEntry(dataUrl(blue)), { text: "another" }],
    }),
  );
  expect(data.map(({ embedding }) => embedding)).toEqual([
    vectorOf([imagePart(red)]),
    vectorOf(["text a text"]),
    vectorOf([imagePart(blue)]),
    vectorOf(["text another"]),
  ]);
  // Texts go upstream apart from images: a text has one vector, whatever stands beside it.
  expect(cohere.requests.map(({ texts, inputs }) => texts ?? inputs?.length)).toEqual(
    expect.arrayContaining([["a text", "another"], 2]),
  );
  await gateway.close();
});

test("an image embedding is cached by its bytes", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  const ask = (input: unknown) =>
    bodyOf(gateway.post("/v1/embeddings", { model: "images", input }));
  const first = await ask([imageEntry(dataUrl(red))]);
  const second = await ask({ image: Buffer.from(red).toString("base64") });
  const declaredOtherwise = await ask({ image: dataUrl(red, "image/jpeg") });
  expect(second.data).toEqual(first.data);
  expect(declaredOtherwise.data).toEqual(first.data);
  expect(cohere.requests).toHaveLength(1);
  const other = await ask([imageEntry(dataUrl(blue))]);
  expect(other.data).not.toEqual(first.data);
  await gateway.close();
});

test("two clients never get each other's image vector, and ask for the same image once", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  const { promise, resolve } = Promise.withResolvers<void>();
  cohere.hold(promise);
  const images = [red, blue, red, png(30), blue, png(77)];
  const asked = images.map((image) =>
    bodyOf(gateway.post("/v1/embeddings", { model: "images", input: { image: dataUrl(image) } })),
  );
  resolve();
  const answers = await Promise.all(asked);
  expect(answers.map(({ data: [first] }) => first?.embedding)).toEqual(
    images.map((image) => vectorOf([imagePart(image)])),
  );
  expect(cohere.requests.flatMap(({ inputs }) => inputs ?? [])).toHaveLength(4);
  await gateway.close();
});

test("every form of an image entry gives the same vector", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  const url = dataUrl(red);
  const expected = vectorOf(["text a dot", imagePart(red)]);
  const content = [
    { type: "text", text: "a dot" },
    { type: "image_url", image_url: { url } },
  ];
  for (const input of [
    { content },
    [{ content }],
    [{ role: "user", content }],
    [{ text: "a dot", image: url }],
    { text: "a dot", image: Buffer.from(red).toString("base64"), role: null },
    [{ content: [content[0], { type: "image_url", image_url: url }] }],
    [{ content: [content[0], { type: "image_url", image_url: { url, detail: "auto" } }] }],
  ]) {
    const { data } = await bodyOf(gateway.post("/v1/embeddings", { model: "images", input }));
    expect(data[0]?.embedding).toEqual(expected);
  }
  expect(cohere.requests).toHaveLength(1);
  await gateway.close();
});

test("a data URL as a string is an image for a model that reads images, and text for any other", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  const url = dataUrl(red);
  const ask = (model: string) =>
    bodyOf(gateway.post("/v1/embeddings", { model, input: ["a text", url] }));
  expect((await ask("images")).data[1]?.embedding).toEqual(vectorOf([imagePart(red)]));
  expect((await ask("texts")).data[1]?.embedding).toEqual(vectorOf([`text ${url}`]));
  await gateway.close();
});

test("a model that reads texts only refuses an image, and a model without fusion a text with an image", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  const refusal = async (model: string, input: unknown) => {
    const response = await gateway.post("/v1/embeddings", { model, input });
    const { error } = (await response.json()) as EmbeddingsBody;
    return [response.status, error?.message];
  };
  expect(await refusal("texts", ["a", { image: dataUrl(red) }])).toEqual([
    400,
    "'$.input' is invalid. Entry 1 cannot be embedded by the model `texts`: it has an image, and the model reads texts only.",
  ]);
  expect(await refusal("images-v3", { text: "a", image: dataUrl(red) })).toEqual([
    400,
    "'$.input' is invalid. Entry 0 cannot be embedded by the model `images-v3`: it has several parts, which the model does not fuse into one vector. Send each part as an entry of its own.",
  ]);
  expect(cohere.requests).toEqual([]);
  await gateway.close();
});

test("an image goes only to a target that reads images, and a text to the preferred one", async () => {
  await using cohere = startCohere();
  await using server = startCohere();
  // The same weights behind a server of texts, which is preferred.
  const gateway = startImageGateway(cohere, {
    upstreams: `  - { id: server, kind: openai-compatible, baseUrl: "${server.url}", apiKey: k }`,
    models: `  - { id: two, kind: embedding, targets: [{ upstream: server, model: embed-v4.0 }, { upstream: cohere, model: embed-v4.0, tier: 1 }], dimensions: 8 }`,
  });
  const { data } = await bodyOf(
    gateway.post("/v1/embeddings", { model: "two", input: [imageEntry(dataUrl(red))] }),
  );
  expect(data[0]?.embedding).toEqual(vectorOf([imagePart(red)]));
  expect(server.requests).toHaveLength(0);
  await gateway.post("/v1/embeddings", { model: "two", input: "a text" });
  expect(server.requests.length).toBeGreaterThan(0);
  await gateway.close();
});

test("texts and images of a request that cannot be split are refused", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  const response = await gateway.post("/v1/embeddings", {
    model: "images",
    input: ["a text", { image: dataUrl(red) }],
    notes: "n".repeat(100_000),
  });
  const { error } = (await response.json()) as EmbeddingsBody;
  expect([response.status, error?.message]).toEqual([
    400,
    expect.stringContaining("Send entries of one kind in a request."),
  ]);
  expect(cohere.requests).toEqual([]);
  await gateway.close();
});

test("a large request with images is split to the vendor's limits, in order", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  const images = Array.from({ length: 5 }, (_, at) => png(at));
  const { data, usage } = await bodyOf(
    gateway.post("/v1/embeddings", {
      model: "images-v3",
      input: images.map((image) => ({ image: dataUrl(image) })),
    }),
  );
  expect(data.map(({ embedding }) => embedding)).toEqual(
    images.map((image) => vectorOf([imagePart(image)])),
  );
  expect(cohere.requests.map((request) => request.images?.length)).toEqual([1, 1, 1, 1, 1]);
  expect(usage.prompt_tokens_details).toEqual({ text_tokens: 0, image_tokens: 500 });
  await gateway.close();
});

test("the older engines path takes texts only, and says so", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  const response = await gateway.post("/v1/engines/images/embeddings", {
    input: [imageEntry(dataUrl(red))],
  });
  const { error } = (await response.json()) as EmbeddingsBody;
  expect([response.status, error?.message]).toEqual([
    400,
    "'$.input' is invalid. This path takes strings and tokens only: send objects with images to /v1/embeddings.",
  ]);
  await gateway.close();
});

test("the Azure path takes images", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  const { data } = await bodyOf(
    gateway.post("/openai/deployments/images/embeddings?api-version=2024-10-21", {
      input: [imageEntry(dataUrl(red))],
    }),
  );
  expect(data[0]?.embedding).toEqual(vectorOf([imagePart(red)]));
  await gateway.close();
});

test("a request with images has a ledger row with its tokens", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  await bodyOf(gateway.post("/v1/embeddings", { model: "images", input: { image: dataUrl(red) } }));
  expect(gateway.rows()).toMatchObject([{ model: "images", status: 200, inputTokens: 100 }]);
  await gateway.close();
});

test("a refused request counts no input as cached or sent", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  await gateway.post("/v1/embeddings", { model: "texts", input: ["a", { image: dataUrl(red) }] });
  expect(gateway.rows()).toMatchObject([
    { status: 400, inputs: 2, cachedInputs: 0, upstreamTokens: 0 },
  ]);
  await gateway.close();
});

test("a cached text counts with its own tokens, whatever images were sent beside it", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  const ask = async (input: unknown) =>
    (await bodyOf(gateway.post("/v1/embeddings", { model: "images", input }))).usage.prompt_tokens;
  const image = { image: dataUrl(red) };
  expect(await ask(["a text", image])).toBe(110);
  expect([await ask("a text"), await ask(image)]).toEqual([10, 100]);
  expect(cohere.requests).toHaveLength(2);
  await gateway.close();
});

test("a data URL with parameters is an image too", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  const input = dataUrl(red, "image/png;name=red.png;charset=utf-8");
  const { data } = await bodyOf(gateway.post("/v1/embeddings", { model: "images", input }));
  expect(data[0]?.embedding).toEqual(vectorOf([imagePart(red)]));
  await gateway.close();
});

test("images that one upstream request does not take are refused if the request cannot be split", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere, {
    upstreams: `  - { id: gemini, kind: gemini, baseUrl: "${cohere.url}", apiKey: g-fake }`,
    models: `  - { id: gemini, kind: embedding, targets: [{ upstream: gemini, model: gemini-embedding-2 }] }`,
  });
  const refusal = async (model: string, images: readonly Buffer[]) => {
    const response = await gateway.post("/v1/embeddings", {
      model,
      input: images.map((image) => ({ image: dataUrl(image) })),
      notes: "n".repeat(100_000),
    });
    const { error } = (await response.json()) as EmbeddingsBody;
    return [response.status, error?.param, error?.message];
  };
  expect(await refusal("images-v3", [red, blue])).toEqual([
    400,
    "input",
    expect.stringContaining("at most 1 inputs, and this request has 2."),
  ]);
  const seven = Array.from({ length: 7 }, (_, at) => png(at));
  expect(await refusal("gemini", seven)).toEqual([
    400,
    "input",
    expect.stringContaining("at most 6 images, and this request has 7."),
  ]);
  const large = [png(1, { padding: 12_000_000 }), png(2, { padding: 12_000_000 })];
  expect(await refusal("images", large)).toEqual([
    400,
    "input",
    expect.stringContaining("at most 20000000 bytes of texts and images, and this request has 24"),
  ]);
  expect(cohere.requests).toEqual([]);
  await gateway.close();
});

interface PathDocument {
  readonly post: {
    readonly requestBody: { readonly content: { readonly "application/json": JsonContent } };
    readonly responses: { readonly 200: { readonly content: { "application/json": JsonContent } } };
  };
}

interface JsonContent {
  readonly schema: Record<string, unknown>;
}

test("requests and responses with images are as the OpenAPI document describes them", async () => {
  await using cohere = startCohere();
  const gateway = startImageGateway(cohere);
  const { paths } = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as {
    paths: Record<string, PathDocument>;
  };
  const pathOf = (path: string) => paths[path]!.post;
  const isValid = (content: { readonly "application/json": JsonContent }, value: unknown) =>
    new Ajv().compile(content["application/json"].schema)(value);
  const body = { model: "images", input: [{ image: dataUrl(red) }] };
  const response = await bodyOf(gateway.post("/v1/embeddings", body));
  expect(response.usage.prompt_tokens_details).toBeDefined();
  const { requestBody, responses } = pathOf("/v1/embeddings");
  expect(isValid(requestBody.content, body)).toBe(true);
  expect(isValid(responses[200].content, response)).toBe(true);
  // It takes texts only.
  const engine = pathOf("/v1/engines/{model}/embeddings").requestBody.content;
  expect(isValid(engine, body)).toBe(false);
  expect(isValid(engine, { input: ["a text"] })).toBe(true);
  await gateway.close();
});
