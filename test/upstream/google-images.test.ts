/** Google's image models: the upstream requests, and how the responses are mapped. */
import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { createRequestTemp } from "../../server/temp-storage/request-temp.ts";
import { gemini } from "../../server/upstream/adapters/google/gemini.ts";
import { vertex } from "../../server/upstream/adapters/google/vertex.ts";
import type {
  BufferedImageResponse,
  GenerationQuery,
  Target,
} from "../../server/upstream/contract.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";
import { query } from "./image-adapter-fixture.ts";

const key = "AIzaSyVexel0123456789abcdefghijklmnop";
const image = Buffer.from("not looked at here").toString("base64");

const target = (model: string, options: Record<string, unknown> = {}): Target => ({
  model,
  upstream: { id: "google", kind: "gemini", apiKey: key, headers: {}, options },
});

const flash = target("gemini-3.1-flash-image");

const sent = (imageQuery: GenerationQuery, to = flash): unknown =>
  JSON.parse(gemini.adapter.generations!.toUpstream(imageQuery, to).body as string);

const read = async (response: object, to = flash): Promise<BufferedImageResponse> => {
  const imageRequest = { query: query(), target: to, temp: createRequestTemp(tmpdir()) };
  const upstreamResponse = upstreamResponseOf(JSON.stringify(response));
  return (await gemini.adapter.generations!.fromUpstream(
    upstreamResponse,
    imageRequest,
  )) as BufferedImageResponse;
};

async function errorKindOf(response: object, to = flash): Promise<GatewayError> {
  const error = await read(response, to).catch((thrown: unknown) => thrown);
  if (error instanceof GatewayError) return error;
  throw new Error("nothing was refused");
}

const generated = { content: { parts: [{ inlineData: { mimeType: "image/png", data: image } }] } };

test("Google-specific options are sent in the fields that Google reads", () => {
  const extraFields = {
    seed: 42,
    safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
    imageConfig: { imageSize: "4K", aspectRatio: "1:1" },
    generationConfig: { temperature: 0.5, responseModalities: ["TEXT"] },
  };
  expect(sent(query({ extraFields, aspectRatio: "16:9" }))).toEqual({
    safetySettings: extraFields.safetySettings,
    contents: [{ role: "user", parts: [{ text: "an otter" }] }],
    generationConfig: {
      seed: 42,
      temperature: 0.5,
      responseModalities: ["IMAGE"],
      imageConfig: { imageSize: "4K", aspectRatio: "16:9" },
    },
  });
});

test("a model with several resolutions gets the class nearest to the size", () => {
  const pro = target("gemini-3-pro-image-preview");
  const classes = [
    ["1024x1024", undefined],
    ["1536x1024", undefined],
    ["2048x2048", "2K"],
    ["2560x1440", "2K"],
    ["4096x4096", "4K"],
  ] as const;
  for (const [size, imageSize] of classes) {
    for (const to of [pro, flash]) {
      const { generationConfig } = sent(query({ aspectRatio: "1:1", requestedSize: size }), to) as {
        generationConfig: object;
      };
      const imageConfig = { aspectRatio: "1:1", ...(imageSize && { imageSize }) };
      expect(generationConfig).toEqual({ responseModalities: ["IMAGE"], imageConfig });
    }
  }
});

test("a model with one resolution gets no other resolution, unless the client's own field sets it", () => {
  const large = { aspectRatio: "1:1", requestedSize: "2048x2048" };
  for (const model of ["gemini-2.5-flash-image", "gemini-3.1-flash-lite-image"]) {
    expect(JSON.stringify(sent(query(large), target(model)))).not.toContain("imageSize");
  }
  const extraFields = { imageConfig: { imageSize: "1K" } };
  expect(sent(query({ ...large, extraFields }))).toMatchObject({
    generationConfig: { imageConfig: { imageSize: "1K" } },
  });
});

test("complexity becomes the thinking level of models that have one", () => {
  const options = { complexity: "high" };
  expect(sent(query({ options }))).toMatchObject({
    generationConfig: { thinkingConfig: { thinkingLevel: "HIGH" } },
  });
  const takes = (model: string) =>
    gemini.adapter.imageCapabilities!(target(model), "generations").takes;
  expect(takes("gemini-3.1-flash-image").complexity).toEqual(["low", "high"]);
  expect(takes("gemini-3-pro-image").complexity).toBeUndefined();
});

test("gemini-nano-banana-2.1 supports 14 aspect ratios at 1K, 2K or 4K and three thinking levels", () => {
  const model = "gemini-nano-banana-2.1";
  for (const { adapter } of [gemini, vertex]) {
    const { takes, sizes } = adapter.imageCapabilities!(target(model), "generations");
    expect(takes.complexity?.toString()).toBe("low,high,medium");
    const ratios = typeof sizes === "object" && "ratios" in sizes ? sizes.ratios : [];
    expect(ratios).toHaveLength(14);
    expect(ratios).toEqual(expect.arrayContaining(["1:4", "4:1", "1:8", "8:1"]));
  }
  const wanted = query({
    aspectRatio: "16:9",
    requestedSize: "4096x2304",
    options: { complexity: "medium" },
  });
  expect(sent(wanted, target(model))).toMatchObject({
    generationConfig: {
      imageConfig: { aspectRatio: "16:9", imageSize: "4K" },
      thinkingConfig: { thinkingLevel: "MEDIUM" },
    },
  });
});

test("input and output tokens add up to the total", async () => {
  const { usage } = await read({
    candidates: [generated],
    usageMetadata: {
      promptTokenCount: 264,
      toolUsePromptTokenCount: 30,
      candidatesTokenCount: 1259,
      thoughtsTokenCount: 200,
      totalTokenCount: 1753,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 6 },
        { modality: "IMAGE", tokenCount: 258 },
      ],
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1120 }],
    },
  });
  expect(usage).toEqual({
    total_tokens: 1753,
    input_tokens: 294,
    output_tokens: 1459,
    input_tokens_details: { text_tokens: 36, image_tokens: 258 },
    output_tokens_details: { text_tokens: 339, image_tokens: 1120 },
  });
});

test.each([
  ["no usage is reported", undefined],
  ["the total is missing", { promptTokenCount: 6 }],
  ["the total is below the prompt", { promptTokenCount: 60, totalTokenCount: 6 }],
])("tokens are unknown if %s", async (_, usageMetadata) => {
  expect((await read({ candidates: [generated], usageMetadata })).usage).toBeUndefined();
});

test("images of the thinking phase are not delivered", async () => {
  const sketch = { inlineData: { mimeType: "image/png", data: "c2tldGNo" }, thought: true };
  const { results } = await read({
    candidates: [{ content: { parts: [sketch, ...generated.content.parts] } }],
  });
  expect(results).toEqual([{ image: { kind: "base64", base64: image } }]);
});

test("the text that a model returns instead of an image is sent to the client, without the operator's names", async () => {
  const text = `I cannot draw that for otter-works-4711 with ${key}.`;
  const to = target("gemini-3-pro-image", { project: "otter-works-4711" });
  const error = await errorKindOf({ candidates: [{ content: { parts: [{ text }] } }] }, to);
  expect(error.kind).toBe("upstream_error");
  expect(error.message).toContain("I cannot draw that for");
  expect(error.message).not.toContain("otter-works-4711");
  expect(error.message).not.toContain(key);
});

test.each([
  ["a prompt", { promptFeedback: { blockReason: "OTHER" } }],
  ["a prompt, with an empty list", { candidates: [], promptFeedback: { blockReason: "SAFETY" } }],
  ["an image", { candidates: [{ finishReason: "IMAGE_RECITATION", content: { parts: null } }] }],
])("%s that Google withholds is reported as refused by its safety system", async (_, response) => {
  expect((await errorKindOf(response)).kind).toBe("moderation_blocked");
});

test("Imagen gets the client's `n`, and not its default of four", () => {
  const imagen = target("imagen-4.0-generate-001", { project: "p", location: "us-central1" });
  const { url, body } = vertex.adapter.generations!.toUpstream(query(), imagen);
  expect(url).toEndWith("/publishers/google/models/imagen-4.0-generate-001:predict");
  expect(JSON.parse(body as string)).toEqual({
    instances: [{ prompt: "an otter" }],
    parameters: { includeRaiReason: true, sampleCount: 1 },
  });
});

test("Imagen gets `negative_prompt` under Google's name", () => {
  const imagen = target("imagen-4.0-generate-001", { project: "p", location: "us-central1" });
  const extraFields = { negative_prompt: "rain" };
  const { body } = vertex.adapter.generations!.toUpstream(query({ extraFields }), imagen);
  const { parameters } = JSON.parse(body as string);
  expect(parameters).toMatchObject({ negativePrompt: "rain" });
  expect(parameters).not.toHaveProperty("negative_prompt");
});

test("only Imagen models that can edit have edit capabilities", () => {
  const edits = (model: string) => vertex.adapter.imageCapabilities!(target(model), "edits").edits;
  expect(edits("imagen-3.0-capability-001")?.mask).toBe("white");
  expect(edits("imagen-4.0-generate-001")).toBeUndefined();
});
