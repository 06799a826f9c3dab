/** A Vexel behind a Vexel: images, types and refusals are those of the other gateway. */
import { afterAll, beforeEach, expect, test } from "bun:test";
import { startGateway, testKey } from "../harness.ts";
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

const cohere = startCohere();
const inner = startImageGateway(cohere);
const outer = startGateway({
  settings: { VEXEL_CACHE_BYTES: "1000000" },
  yaml: `
upstreams:
  - { id: inner, kind: vexel, baseUrl: "${inner.baseURL}", apiKey: ${testKey} }
models:
  - { id: images, kind: embedding, dimensions: 8, price: { input: 1, imageInput: 10 }, targets: [{ upstream: inner, model: images }] }
  - { id: texts, kind: embedding, dimensions: 8, targets: [{ upstream: inner, model: texts }] }
keys:
  - { name: test, key: ${testKey} }
`,
});
beforeEach(() => cohere.clear());
afterAll(async () => {
  await outer.close();
  await inner.close();
  await cohere[Symbol.asyncDispose]();
});

const [red, blue] = [png(10), png(200)];
const ask = async (model: string, input: unknown, more: object = {}) => {
  const response = await outer.post("/v1/embeddings", { model, input, ...more });
  return { response, body: (await response.json()) as EmbeddingsBody };
};

test("images, texts and both in one entry have the vectors of the other gateway, in order", async () => {
  const { response, body } = await ask("images", [
    imageEntry(dataUrl(red)),
    "a text",
    { text: "a dot", image: dataUrl(blue) },
    { role: "user", content: [{ type: "image_url", image_url: dataUrl(blue) }] },
  ]);
  expect(body.data?.map(({ embedding }) => embedding)).toEqual([
    vectorOf([imagePart(red)]),
    vectorOf(["text a text"]),
    vectorOf(["text a dot", imagePart(blue)]),
    vectorOf([imagePart(blue)]),
  ]);
  expect(response.headers.get("vexel-adapted")).toBeNull();
  expect(body.usage).toEqual({
    prompt_tokens: 320,
    total_tokens: 320,
    prompt_tokens_details: { text_tokens: 20, image_tokens: 300 },
  } as never);
  const [row] = outer.rows();
  expect(row?.cost).toBeCloseTo((20 * 1 + 300 * 10) / 1_000_000, 12);
});

test("a data URL as a string is read as the other gateway reads it", async () => {
  const url = dataUrl(png(77));
  const ofImages = await ask("images", [url]);
  expect(ofImages.body.data[0]?.embedding).toEqual(vectorOf([imagePart(png(77))]));
  const ofTexts = await ask("texts", [url]);
  expect(ofTexts.body.data[0]?.embedding).toEqual(vectorOf([`text ${url}`]));
});

test("a model of the other gateway that reads texts only refuses an image, by its entry", async () => {
  const { response, body } = await ask("texts", ["a", { image: dataUrl(red) }]);
  expect([response.status, body.error?.message]).toEqual([
    400,
    expect.stringContaining("Entry 1 cannot be embedded by the model `texts`: it has an image"),
  ]);
  expect(cohere.requests.filter(({ texts }) => !texts)).toEqual([]);
});

test("the model list names no modality that is only assumed", async () => {
  const response = await fetch(`${outer.baseURL}/models`, {
    headers: { authorization: `Bearer ${testKey}` },
  });
  const { data } = (await response.json()) as { data: object[] };
  expect(data.filter((model) => "input_modalities" in model)).toEqual([]);
});

test.each(["int8", "uint8", "binary", "ubinary"] as const)(
  "%s vectors of images are those of the other gateway",
  async (type) => {
    const input = [{ image: dataUrl(red) }, "a text"];
    const direct = await inner.post("/v1/embeddings", {
      model: "images",
      input,
      output_dtype: type,
    });
    const { body } = await ask("images", input, { output_dtype: type });
    expect(body.data).toEqual(((await direct.json()) as EmbeddingsBody).data);
    const length = type.endsWith("int8") ? 8 : 1;
    expect(body.data.map(({ embedding }) => embedding.length)).toEqual([length, length]);
  },
);
