/** Image edits with the official SDK: files in all the ways it sends them. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { createReadStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BadRequestError, toFile } from "openai";
import { fakeImage, type RecordedRequest } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import { arrange, base64Of, grayImage, maskOf, refusalOf, sha256Of } from "./arrange.ts";

const { fake, gateway, client, close } = arrange();
const folder = temporaryFolder();
beforeEach(() => fake.clear());
afterAll(async () => {
  folder[Symbol.dispose]();
  await close();
});

const model = "gpt-image-2";
const prompt = "add a hat";
const edited = base64Of(fakeImage(prompt, 0, { format: "png", width: 1024, height: 1024 }));
const parts = () => fake.requests[0]?.form ?? [];
const files = () =>
  parts().flatMap(({ field, filename, type, sha256 }) =>
    filename === undefined ? [] : [{ field, filename, type, sha256 }],
  );
const texts = () =>
  Object.fromEntries(
    parts().flatMap(({ field, value }) => (value === undefined ? [] : [[field, value]])),
  );

describe("the official client's images.edit", () => {
  test("sends one image unchanged and returns the edited image", async () => {
    const imageBytes = grayImage("one");
    const image = await toFile(imageBytes, "otter.png", { type: "image/png" });
    const response = await client.images.edit({ model, prompt, image });
    expect(response.data).toEqual([{ b64_json: edited }]);
    expect(files()).toEqual([
      { field: "image", filename: "otter.png", type: "image/png", sha256: sha256Of(imageBytes) },
    ]);
    expect(texts()).toEqual({ model, prompt });
  });

  test("sends several images in order", async () => {
    const images = [grayImage("a"), grayImage("b", 24, "jpeg"), grayImage("c", 32, "webp")];
    const image = await Promise.all(images.map((bytes, i) => toFile(bytes, `${i}.bin`)));
    const response = await client.images.edit({ model, prompt, image });
    expect(response.data).toHaveLength(1);
    expect(files()).toEqual([
      { field: "image[]", filename: "0.png", type: "image/png", sha256: sha256Of(images[0]!) },
      { field: "image[]", filename: "1.jpg", type: "image/jpeg", sha256: sha256Of(images[1]!) },
      { field: "image[]", filename: "2.webp", type: "image/webp", sha256: sha256Of(images[2]!) },
    ]);
    expect(response.usage?.input_tokens_details.image_tokens).toBe(3 * 194);
  });

  test("sends sixteen images", async () => {
    const images = Array.from({ length: 16 }, (_, i) => grayImage(`number ${i}`));
    const image = await Promise.all(images.map((bytes, i) => toFile(bytes, `${i}.png`)));
    await client.images.edit({ model, prompt, image });
    expect(files().map(({ sha256 }) => sha256)).toEqual(images.map(sha256Of));
  });

  test("sends a mask with the image", async () => {
    const [image, mask] = [grayImage("picture"), await maskOf()];
    await client.images.edit({
      model,
      prompt,
      image: await toFile(image, "otter.png"),
      mask: await toFile(mask, "mask.png"),
    });
    expect(files().map(({ field, sha256 }) => [field, sha256])).toEqual([
      ["image", sha256Of(image)],
      ["mask", sha256Of(mask)],
    ]);
  });

  test("sends a file as a stream of unknown type and length", async () => {
    const image = grayImage("from disk", 640);
    const path = join(folder.path, "otter.png");
    writeFileSync(path, image);
    const response = await client.images.edit({ model, prompt, image: createReadStream(path) });
    expect(response.data).toEqual([{ b64_json: edited }]);
    // The gateway replaces the type, which OpenAI would refuse, by that of the file's first bytes.
    expect(files()).toEqual([
      { field: "image", filename: "otter.png", type: "image/png", sha256: sha256Of(image) },
    ]);
  });

  test("sends a file that is too large for memory from disk unchanged", async () => {
    const image = Buffer.concat([grayImage("large"), crypto.getRandomValues(Buffer.alloc(65_536))]);
    const large = Buffer.concat(Array.from({ length: 48 }, () => image));
    const path = join(folder.path, "large.png");
    writeFileSync(path, large);
    await client.images.edit({ model, prompt, image: createReadStream(path) });
    expect(files()[0]).toMatchObject({ field: "image", sha256: sha256Of(large) });
    // content-length is sent, although the client sent none: not every upstream accepts chunked bodies.
    const [{ headers, bytes }] = fake.requests as [RecordedRequest];
    expect(headers["content-length"]).toBe(String(bytes));
    expect(headers["transfer-encoding"]).toBeUndefined();
  });

  test("sends every option upstream unchanged", async () => {
    const options = {
      n: 2,
      size: "1536x1024",
      quality: "high",
      background: "opaque",
      output_format: "jpeg",
      output_compression: 80,
      input_fidelity: "high",
      user: "user-1234",
    } as const;
    const image = await toFile(grayImage("one"), "otter.png");
    const response = await client.images.edit({ model, prompt, image, ...options });
    // This model always uses high fidelity and does not accept the option.
    const { input_fidelity: _, ...sent } = options;
    expect(texts()).toEqual({ model, prompt, ...sent, n: "2", output_compression: "80" });
    const shape = { format: "jpeg", width: 1536, height: 1024 } as const;
    expect(response.data?.map(({ b64_json }) => b64_json)).toEqual(
      [0, 1].map((at) => base64Of(fakeImage(prompt, at, shape))),
    );
    expect(gateway.rows().at(-1)).toMatchObject({ endpoint: "edits", status: 200, images: 2 });
  });

  test("gets OpenAI's error when the file is not an image", async () => {
    const image = await toFile(Buffer.from("Example data"), "README.md");
    const error = await refusalOf(client.images.edit({ model, prompt, image }), BadRequestError);
    expect(error).toMatchObject({
      code: "unsupported_file_mimetype",
      param: "image",
      type: "invalid_request_error",
    });
    expect(fake.requests).toHaveLength(0);
  });

  test("gets an error about the mask without an upstream request", async () => {
    const error = await refusalOf(
      client.images.edit({
        model,
        prompt,
        image: await toFile(grayImage("picture", 32), "otter.png"),
        mask: await toFile(await maskOf(16), "mask.png"),
      }),
      BadRequestError,
    );
    expect(error).toMatchObject({ code: "invalid_value", param: "mask" });
    expect(error.message).toContain("the mask is 16x16 and the image 32x32");
    expect(fake.requests).toHaveLength(0);
  });
});

describe("an edit in JSON, with references", () => {
  const images = [{ image_url: `data:image/png;base64,${base64Of(grayImage("a"))}` }];

  test("sends image URLs, file IDs and the mask unchanged", async () => {
    const body = {
      model,
      prompt,
      images: [...images, { file_id: "file-abc" }],
      mask: { file_id: "file-mask" },
      moderation: "low",
    };
    const response = await gateway.post("/v1/images/edits", body);
    expect(await response.json()).toMatchObject({ data: [{ b64_json: edited }] });
    expect(fake.requests[0]!.json).toEqual(body);
  });

  test("gets an error that explains the parameter name in JSON", async () => {
    const response = await gateway.post("/v1/images/edits", { model, prompt, image: "x" });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: Record<string, string> };
    expect(error).toMatchObject({ code: "missing_required_parameter", param: "images" });
    expect(error.message).toContain("image_url");
  });
});
