/** Image generation with the official SDK. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { BadRequestError } from "openai";
import { fakeImage } from "../fake-upstream.ts";
import { arrange, base64Of, refusalOf } from "./arrange.ts";

const { fake, gateway, client, close } = arrange();
beforeEach(() => fake.clear());
afterAll(close);

const big = { width: 1024, height: 1024 } as const;

describe("the official client's images.generate", () => {
  test("returns the upstream's image, byte for byte", async () => {
    const response = await client.images.generate({ model: "gpt-image-2", prompt: "an otter" });
    const image = base64Of(fakeImage("an otter", 0, { format: "png", ...big }));
    expect(response.data).toEqual([{ b64_json: image }]);
    expect(response.created).toBeInteger();
    expect(response).toMatchObject({
      size: "1024x1024",
      quality: "medium",
      background: "opaque",
      output_format: "png",
    });
  });

  test("returns `n` images in order, with the usage that the upstream reported", async () => {
    const response = await client.images.generate({
      model: "gpt-image-2",
      prompt: "two otters",
      n: 2,
    });
    expect(response.data?.map(({ b64_json }) => b64_json)).toEqual(
      [0, 1].map((at) => base64Of(fakeImage("two otters", at, { format: "png", ...big }))),
    );
    expect(response.usage).toEqual({
      total_tokens: 2115,
      input_tokens: 3,
      output_tokens: 2112,
      input_tokens_details: { text_tokens: 3, image_tokens: 0 },
      output_tokens_details: { text_tokens: 0, image_tokens: 2112 },
    });
    expect(gateway.rows().at(-1)).toMatchObject({
      endpoint: "generations",
      status: 200,
      inputTokens: 3,
      outputTokens: 2112,
      images: 2,
    });
  });

  test("sends every option upstream unchanged", async () => {
    const options = {
      prompt: "an otter",
      n: 2,
      size: "1536x1024",
      quality: "high",
      background: "opaque",
      moderation: "low",
      output_format: "webp",
      output_compression: 80,
      user: "user-1234",
      safety_identifier: "hash-1234",
    } as const;
    const response = await client.images.generate({ model: "gpt-image-2", ...options });
    expect(fake.requests[0]!.json).toEqual({ model: "gpt-image-2", ...options });
    expect(response).toMatchObject({
      size: "1536x1024",
      quality: "high",
      output_format: "webp",
      safety_identifier: "hash-1234",
    });
    const shape = { format: "webp", width: 1536, height: 1024 } as const;
    expect(response.data?.[1]?.b64_json).toBe(base64Of(fakeImage("an otter", 1, shape)));
  });

  test("is refused with unsupported options, without an upstream request", async () => {
    const error = await refusalOf(
      client.images.generate({ model: "dall-e-3", prompt: "an otter", moderation: "low" }),
      BadRequestError,
    );
    expect(fake.requests).toHaveLength(0);
    expect(error).toMatchObject({ code: "unknown_parameter", param: "moderation" });
  });

  test("returns the upstream's own error for a capability that only some sources document", async () => {
    const error = await refusalOf(
      client.images.generate({
        model: "gpt-image-2",
        prompt: "an otter",
        background: "transparent",
      }),
      BadRequestError,
    );
    expect(fake.requests[0]!.json).toMatchObject({ background: "transparent" });
    expect(error.message).toContain("Transparent background is not supported for this model.");
  });

  test("does not send null members", async () => {
    await client.images.generate({
      model: "gpt-image-2",
      prompt: "an otter",
      n: null,
      size: null,
      background: null,
      output_format: null,
      stream: null,
    });
    expect(fake.requests[0]!.json).toEqual({ model: "gpt-image-2", prompt: "an otter" });
  });

  test("returns the URL and the revised prompt of models that send them", async () => {
    const response = await client.images.generate({
      model: "dall-e-3",
      prompt: "an otter",
      style: "vivid",
      quality: "hd",
      response_format: "url",
    });
    const [image] = response.data!;
    expect(image!.revised_prompt).toBe("Revised: an otter");
    const file = await fetch(image!.url!);
    expect(base64Of(await file.bytes())).toBe(
      base64Of(fakeImage("an otter", 0, { format: "png", ...big })),
    );
    expect(response.usage).toBeUndefined();
    expect(gateway.rows().at(-1)).toMatchObject({
      inputTokens: null,
      outputTokens: null,
      images: 1,
    });
  });

  test("returns base64 from the same models on request", async () => {
    const response = await client.images.generate({
      model: "dall-e-3",
      prompt: "an otter",
      response_format: "b64_json",
    });
    expect(response.data?.[0]?.b64_json).toBe(
      base64Of(fakeImage("an otter", 0, { format: "png", ...big })),
    );
  });
});
