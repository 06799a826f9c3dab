/** The AI SDK's OpenAI-compatible provider in front of the gateway. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embed, embedMany, generateImage } from "ai";
import { fakeImage, fakeTokens, fakeVector } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";
import { arrange, base64Of, bitsOf, grayImage, maskOf, refusalOf, sha256Of } from "./arrange.ts";

const { fake, gateway, close } = arrange();
beforeEach(() => fake.clear());
afterAll(close);

const provider = createOpenAICompatible({
  name: "vexel",
  baseURL: gateway.baseURL,
  apiKey: testKey,
});
const vectors = provider.embeddingModel("text-embedding-3-small");
const imageModel = provider.imageModel("gpt-image-2");
const big = { format: "png", width: 1024, height: 1024 } as const;

describe("the AI SDK", () => {
  test("embeds one value", async () => {
    const { embedding, usage } = await embed({ model: vectors, value: "an otter" });
    expect(bitsOf(embedding)).toBe(bitsOf(fakeVector("an otter", 1536)));
    expect(usage).toEqual({ tokens: fakeTokens("an otter") });
  });

  test("embeds many values in order, with its own options", async () => {
    const values = ["one", "two", "three"];
    const { embeddings } = await embedMany({
      model: vectors,
      values,
      providerOptions: { vexel: { dimensions: 32, user: "user-1234" } },
    });
    expect(embeddings.map(bitsOf)).toEqual(values.map((value) => bitsOf(fakeVector(value, 32))));
    expect(fake.requests[0]!.json).toMatchObject({ dimensions: 32, user: "user-1234" });
  });

  test("embeds when the upstream reports no usage", async () => {
    fake.script({ usage: "absent" });
    const { embedding } = await embed({ model: vectors, value: "an otter" });
    expect(embedding).toHaveLength(1536);
  });

  test("generates an image", async () => {
    const { image } = await generateImage({ model: imageModel, prompt: "an otter" });
    expect(image.base64).toBe(base64Of(fakeImage("an otter", 0, big)));
    expect(image.mediaType).toBe("image/png");
  });

  test("generates several images of one size, with its own options", async () => {
    const { images } = await generateImage({
      model: imageModel,
      prompt: "an otter",
      n: 3,
      size: "1536x1024",
      providerOptions: { vexel: { quality: "low" } },
    });
    expect(images).toHaveLength(3);
    const shape = { format: "png", width: 1536, height: 1024 } as const;
    expect(images[0]!.base64).toBe(base64Of(fakeImage("an otter", 0, shape)));
    expect(fake.requests.every(({ json }) => (json as { quality: string }).quality === "low")).toBe(
      true,
    );
  });

  test("edits images with a mask", async () => {
    const [first, second, mask] = [grayImage("first"), grayImage("second"), await maskOf()];
    const { image } = await generateImage({
      model: imageModel,
      prompt: { text: "add a hat", images: [first, second], mask },
    });
    expect(image.base64).toBe(base64Of(fakeImage("add a hat", 0, big)));
    const files = fake.requests[0]!.form!.filter(({ filename }) => filename !== undefined);
    expect(files.map(({ field, sha256 }) => [field, sha256])).toEqual([
      ["image[]", sha256Of(first)],
      ["image[]", sha256Of(second)],
      ["mask", sha256Of(mask)],
    ]);
  });

  test("gets an error message that it can show", async () => {
    const error = await refusalOf(
      generateImage({ model: imageModel, prompt: "an otter", size: "100x100", maxRetries: 0 }),
      APICallError,
    );
    expect(error.statusCode).toBe(400);
    expect(error.message).toContain("divisible by 16");
    expect(error.isRetryable).toBe(false);
  });
});
