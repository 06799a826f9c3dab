/** The built-in image model with common clients: no vendor account, real images. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { toFile } from "openai";
import type { ImageGenerateParamsNonStreaming, ImagesResponse } from "openai/resources/images";
import sharp from "sharp";
import { startGateway, testKey } from "../harness.ts";
import { clientOf } from "./arrange.ts";

// Generating images takes CPU time, and the machine may be busy.
setDefaultTimeout(60_000);

const gateway = startGateway({ yaml: `keys:\n  - { name: test, key: ${testKey} }\n` });
const client = clientOf(gateway);
afterAll(() => gateway.close());

const model = "vexel-sketch";
const small = { model, size: "256x192" } as const;
const bytesOf = (base64: string | undefined): Buffer => Buffer.from(base64 ?? "", "base64");

/** Decodes every pixel with a real decoder. */
async function looked(bytes: Uint8Array) {
  const { format, width, height } = await sharp(bytes).metadata();
  const { data } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return { format, width, height, data };
}

const firstImage = ({ data }: ImagesResponse) => looked(bytesOf(data![0]!.b64_json));
const generate = (prompt: string, more: Partial<ImageGenerateParamsNonStreaming> = {}) =>
  client.images.generate({ ...small, prompt, ...more });

/** A colorful image, so that each change shows. */
const source = (width = 128, height = 128): Promise<Buffer> =>
  sharp(
    Buffer.from(
      Uint8Array.from(
        { length: width * height * 3 },
        (_, i) => (i * 7 + Math.floor(i / 300)) % 256,
      ),
    ),
    { raw: { width, height, channels: 3 } },
  )
    .png()
    .toBuffer();

describe("images.generate with the built-in model", () => {
  test("returns an image of the requested size", async () => {
    const response = await generate("an otter in the sea");
    expect(response.data).toHaveLength(1);
    const { format, width, height } = await firstImage(response);
    expect([format, width, height]).toEqual(["png", 256, 192]);
    expect(response).toMatchObject({ size: "256x192", output_format: "png", background: "opaque" });
    expect(response.created).toBeInteger();
    expect(response.usage!.total_tokens).toBe(
      response.usage!.input_tokens + response.usage!.output_tokens,
    );
    expect(gateway.rows().at(-1)).toMatchObject({
      endpoint: "generations",
      upstream: "vexel-sketch",
      status: 200,
      images: 1,
      outputTokens: response.usage!.output_tokens,
    });
  });

  test("returns different images for n, and the same ones for an identical request", async () => {
    const [first, again] = [
      await generate("a red house", { n: 2 }),
      await generate("a red house", { n: 2 }),
    ];
    const images = first.data!.map(({ b64_json }) => b64_json);
    expect(new Set(images).size).toBe(2);
    expect(again.data!.map(({ b64_json }) => b64_json)).toEqual(images);
  });

  test("returns a link that works without a key for response_format url", async () => {
    const responseBody = await generate("a boat", { response_format: "url" });
    const { url, b64_json } = responseBody.data![0]!;
    expect(b64_json).toBeUndefined();
    expect(url).toStartWith(`${gateway.url}/files/images/`);
    const response = await fetch(url!);
    expect(response.headers.get("content-type")).toBe("image/png");
    expect(await looked(await response.bytes())).toMatchObject({ format: "png", width: 256 });
  });
});

describe("images.edit with the built-in model", () => {
  test("edits one image and keeps its size", async () => {
    const image = await source(160, 128);
    const response = await client.images.edit({
      model,
      prompt: "make it an oil painting",
      image: await toFile(image, "a.png", { type: "image/png" }),
    });
    const edited = await firstImage(response);
    expect([edited.format, edited.width, edited.height]).toEqual(["png", 160, 128]);
    expect(edited.data.equals((await looked(image)).data)).toBe(false);
    expect(response.usage!.input_tokens_details.image_tokens).toBeGreaterThan(0);
    expect(gateway.rows().at(-1)).toMatchObject({ endpoint: "edits", status: 200, images: 1 });
  });

  test("edits the transparent area of the mask, and no other pixel", async () => {
    const size = 128;
    const image = await source(size, size);
    // The left half is transparent.
    const alpha = Uint8Array.from({ length: size * size * 4 }, (_, i) =>
      i % 4 !== 3 ? 0 : (i >> 2) % size < size / 2 ? 0 : 255,
    );
    const mask = await sharp(Buffer.from(alpha), {
      raw: { width: size, height: size, channels: 4 },
    })
      .png()
      .toBuffer();
    const response = await client.images.edit({
      model,
      prompt: "a big red apple",
      image: await toFile(image, "a.png"),
      mask: await toFile(mask, "mask.png"),
    });
    const [before, after] = [await looked(image), await firstImage(response)];
    const changed = { open: 0, closed: 0 };
    for (let at = 0; at < before.data.length; at += 4) {
      const same = before.data.subarray(at, at + 3).equals(after.data.subarray(at, at + 3));
      if (!same) changed[(at / 4) % size < size / 2 ? "open" : "closed"]++;
    }
    expect(changed.closed).toBe(0);
    expect(changed.open).toBeGreaterThan((size * size) / 8);
  });
});

describe("a stream of the built-in model", () => {
  test("of generate has partial images and then the final image", async () => {
    const stream = await client.images.generate({
      ...small,
      prompt: "a mountain lake",
      stream: true,
      partial_images: 2,
    });
    const eventTypes: string[] = [];
    const images = new Set<string>();
    for await (const event of stream) {
      eventTypes.push(event.type);
      images.add(event.b64_json);
      expect(await looked(bytesOf(event.b64_json))).toMatchObject({ width: 256, height: 192 });
      expect(event.size as string).toBe("256x192");
      if (event.type === "image_generation.partial_image") {
        expect(event.partial_image_index).toBe(eventTypes.length - 1);
      } else expect(event.usage.output_tokens).toBeGreaterThan(0);
    }
    expect(eventTypes).toEqual([
      "image_generation.partial_image",
      "image_generation.partial_image",
      "image_generation.completed",
    ]);
    expect(images.size).toBe(3);
    expect(gateway.rows().at(-1)).toMatchObject({ status: 200, images: 1 });
  });

  test("of edit has the final image last", async () => {
    const stream = await client.images.edit({
      model,
      prompt: "make it an oil painting",
      image: await toFile(await source(), "a.png"),
      stream: true,
      partial_images: 1,
    });
    const eventTypes: string[] = [];
    for await (const event of stream) {
      eventTypes.push(event.type);
      expect(await looked(bytesOf(event.b64_json))).toMatchObject({ width: 128 });
    }
    expect(eventTypes.at(-1)).toBe("image_edit.completed");
    expect(eventTypes.slice(0, -1).every((type) => type === "image_edit.partial_image")).toBe(true);
    expect(eventTypes.length).toBeLessThanOrEqual(2);
  });
});
