/** Amazon Bedrock images: the model's vendor decides the request body, and the signature covers all of it. */
import { expect, test } from "bun:test";
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import { bedrock } from "../../server/upstream/adapters/amazon/bedrock.ts";
import type { EditQuery, Target, Upstream } from "../../server/upstream/contract.ts";
import { readAll } from "../chunks.ts";
import { fileOf } from "../laws/adapter-cases.ts";
import { embeddingsQuery, errorKindOf } from "../laws/adapter-responses.ts";
import { bodyOf, query } from "./image-adapter-fixture.ts";

const { adapter } = bedrock;

const upstream = (more: Partial<Upstream> = {}): Upstream => ({
  id: "bedrock",
  kind: "bedrock",
  headers: {},
  options: {
    region: "us-west-2",
    accessKeyId: "AKIAVEXEL00000000000",
    secretAccessKey: "wJalrXUtnFEMI/K7MDENG/vexel",
  },
  ...more,
});

const targetOf = (model: string, upstreamConfig = upstream()): Target => ({
  model,
  upstream: upstreamConfig,
});

const image = (content: string) =>
  ({
    kind: "file",
    file: fileOf("image", "otter.png", "image/png", Buffer.from(content)),
  }) as const;

const edit = (more: Partial<EditQuery> = {}): EditQuery => ({
  ...query(),
  images: [image("an otter")],
  files: [],
  ...more,
});

async function textOf({ body }: UpstreamRequest): Promise<string> {
  if (typeof body !== "object") return body ?? "";
  return (await readAll(body.open())).toString();
}

const upstreamRequest = (model: string, imageQuery = query()) =>
  bodyOf(adapter.generations!.toUpstream(imageQuery, targetOf(model)));

const edited = (model: string, query = edit()) =>
  bodyOf(adapter.edits!.toUpstream(query, targetOf(model)));

const base64 = (content: string) => Buffer.from(content).toString("base64");

test("the signature of an upload covers exactly the bytes that are sent", async () => {
  const now = Date.parse("2026-11-15T08:00:00Z");
  const upstreamConfig = upstream();
  const images = [image("a picture ".repeat(50_000))];
  const request = adapter.edits!.toUpstream(
    edit({ images }),
    targetOf("amazon.nova-canvas-v1:0", upstreamConfig),
  );
  const whole = adapter.sign!({ ...request, body: await textOf(request) }, upstreamConfig, now);
  const streamed = await adapter.signStreamed!(request, upstreamConfig, now);
  expect(streamed.headers.authorization).toStartWith("AWS4-HMAC-SHA256 ");
  expect(streamed.headers).toEqual(whole.headers);
  expect(await textOf(streamed)).toBe(await textOf(request));
});

test("with a Bedrock API key, an upload is read once and not before it is sent", async () => {
  const upstreamConfig = upstream({ apiKey: "bedrock-api-key-0123456789abcdef" });
  let opened = 0;
  const body = {
    length: 2,
    open: async function* () {
      opened++;
      yield Buffer.from("{}");
    },
  };
  const request = { url: "https://bedrock.example", headers: {}, body };
  expect(await adapter.signStreamed!(request, upstreamConfig, 0)).toBe(request);
  expect(opened).toBe(0);
});

test.each([
  ["amazon.nova-canvas-v1:0", "textToImageParams"],
  ["us.amazon.nova-canvas-v1:0", "textToImageParams"],
  ["amazon.titan-image-generator-v1", "textToImageParams"],
  ["stability.stable-image-ultra-v1:1", "prompt"],
  ["us.stability.a-painter-of-tomorrow-v3:0", "prompt"],
])("%s gets the request body of its family", async (model, field) => {
  expect(Object.keys(await upstreamRequest(model))).toContain(field);
});

test("the family of an unknown model is not guessed: the operator must set it", async () => {
  const model = `arn:aws:bedrock:us-west-2:471147114711:application-inference-profile/x`;
  const error = await errorKindOf(async () =>
    adapter.generations!.toUpstream(query(), targetOf(model)),
  );
  expect(error?.kind).toBe("unsupported_operation");
  expect(error?.message).toContain("'public-model'");
  expect(error?.message).not.toContain("471147114711");
  const configured = upstream({ options: { ...upstream().options, family: "stability" } });
  const body = await bodyOf(adapter.generations!.toUpstream(query(), targetOf(model, configured)));
  expect(body).toEqual({ prompt: "an otter" });
});

test("an image family gets no embeddings request", async () => {
  const configured = upstream({ options: { ...upstream().options, family: "stability" } });
  const error = await errorKindOf(async () =>
    adapter.embeddings!.toUpstream(embeddingsQuery(1), targetOf("arn:x", configured)),
  );
  expect(error?.kind).toBe("unsupported_operation");
});

test("Amazon-specific options are sent in the fields that Amazon reads", async () => {
  const extraFields = { seed: 42, cfgScale: 7.5, negativeText: "text" };
  expect(
    await upstreamRequest("amazon.nova-canvas-v1:0", query({ extraFields, options: { n: 3 } })),
  ).toEqual({
    taskType: "TEXT_IMAGE",
    textToImageParams: { negativeText: "text", text: "an otter" },
    imageGenerationConfig: { seed: 42, cfgScale: 7.5, numberOfImages: 3 },
  });
});

test("`negative_prompt` is sent in the field that Amazon reads, and its own name wins", async () => {
  const generated = async (extraFields: Record<string, unknown>) =>
    (await upstreamRequest("amazon.nova-canvas-v1:0", query({ extraFields }))).textToImageParams;
  expect(await generated({ negative_prompt: "rain" })).toEqual({
    negativeText: "rain",
    text: "an otter",
  });
  expect(await generated({ negative_prompt: "rain", negativeText: "snow" })).toEqual({
    negativeText: "snow",
    text: "an otter",
  });
  const masked = edit({ extraFields: { negative_prompt: "rain", maskPrompt: "the hat" } });
  expect(await edited("amazon.titan-image-generator-v2:0", masked)).toMatchObject({
    inPaintingParams: { negativeText: "rain" },
  });
  const stability = query({ extraFields: { negative_prompt: "rain" } });
  expect(await upstreamRequest("stability.sd3-5-large-v1:0", stability)).toMatchObject({
    negative_prompt: "rain",
  });
});

test("a mask prompt regenerates that part of the image", async () => {
  const query = edit({ extraFields: { maskPrompt: "the hat" } });
  expect(await edited("amazon.nova-canvas-v1:0", query)).toEqual({
    taskType: "INPAINTING",
    inPaintingParams: { maskPrompt: "the hat", image: base64("an otter"), text: "an otter" },
  });
});

test("several images with a mask are rejected, and the error names the parameter image", async () => {
  const query = edit({ images: [image("a"), image("b")], mask: image("m") });
  const error = await errorKindOf(async () =>
    adapter.edits!.toUpstream(query, targetOf("amazon.nova-canvas-v1:0")),
  );
  expect([error?.kind, error?.details.param]).toEqual(["invalid_value", "image"]);
});

test.each(["image-erase-object", "image-remove-background", "fast-upscale"])(
  "%s, which takes no prompt, gets none",
  async (service) => {
    expect(await edited(`us.stability.stable-${service}-v1:0`)).toEqual({
      image: base64("an otter"),
    });
  },
);

test.each([
  ["image-search-replace", "search_prompt"],
  ["image-search-recolor", "select_prompt"],
])("%s reports its required parameter by name, and passes it on", async (service, field) => {
  const model = `us.stability.stable-${service}-v1:0`;
  const error = await errorKindOf(async () => adapter.edits!.toUpstream(edit(), targetOf(model)));
  expect([error?.kind, error?.details.param]).toEqual(["missing_parameter", field]);
  const query = edit({ extraFields: { [field]: "the hat" } });
  expect(await edited(model, query)).toMatchObject({ [field]: "the hat", prompt: "an otter" });
});

test("a style is transferred from the second image to the first", async () => {
  const model = "us.stability.stable-style-transfer-v1:0";
  const query = edit({ images: [image("content"), image("style")] });
  expect(await edited(model, query)).toEqual({
    prompt: "an otter",
    init_image: base64("content"),
    style_image: base64("style"),
  });
  const error = await errorKindOf(async () => adapter.edits!.toUpstream(edit(), targetOf(model)));
  expect([error?.kind, error?.details.param]).toEqual(["invalid_value", "image"]);
});

test("a model that only generates rejects an edit", () => {
  const core = targetOf("stability.stable-image-core-v1:1");
  expect(adapter.imageCapabilities!(core, "edits").edits).toBeUndefined();
});
