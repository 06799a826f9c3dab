/** The image endpoints of the fake, seen by the official client and by sharp. */

import { afterAll, afterEach, describe, expect, test } from "bun:test";
import OpenAI, { toFile } from "openai";
import sharp from "sharp";
import { fakeImage, fakeTokens, startFake } from "../fake-upstream.ts";

const fake = startFake();
const openai = new OpenAI({ baseURL: fake.url, apiKey: "sk-fake", maxRetries: 0 });
const model = "gpt-image-2";
const authorization = "Bearer sk-fake";
const otter = fakeImage("otter", 0, { format: "png", width: 64, height: 64 });

afterEach(() => fake.clear());
afterAll(() => fake.close());

const post = (path: string, body: unknown) =>
  fetch(fake.url + path, {
    method: "POST",
    headers: { authorization },
    body: JSON.stringify(body),
  });
const errorOf = async (response: Response) =>
  ((await response.json()) as { error: Record<string, unknown> }).error;

describe("generations", () => {
  test.each(["png", "jpeg", "webp"] as const)(
    "a %s is a valid image of the requested size",
    async (format) => {
      const response = await openai.images.generate({
        model,
        prompt: "otter",
        n: 2,
        size: "1536x1024",
        output_format: format,
      });
      expect(response).toMatchObject({
        size: "1536x1024",
        quality: "medium",
        background: "opaque",
      });
      expect(response.output_format).toBe(format);
      expect(response.usage?.output_tokens).toBe(2 * 1056);
      const [first, second] = response.data!.map((row) => Buffer.from(row.b64_json!, "base64"));
      const expected = { format, width: 1536, height: 1024 };
      expect(await sharp(first).metadata()).toMatchObject(expected);
      expect(second).toEqual(Buffer.from(fakeImage("otter", 1, expected)));
      expect(first).not.toEqual(second!);
    },
  );

  test("dall-e-3 returns URLs that can be downloaded, or base64, with a revised prompt", async () => {
    const parameters = { model: "dall-e-3", prompt: "otter" };
    const url = await openai.images.generate(parameters);
    expect(url.data![0]!.revised_prompt).toBe("Revised: otter");
    expect(url.usage).toBeUndefined();
    const file = await fetch(url.data![0]!.url!);
    expect((await sharp(await file.arrayBuffer()).metadata()).format).toBe("png");
    const b64 = await openai.images.generate({ ...parameters, response_format: "b64_json" });
    expect(b64.data![0]!.b64_json).toStartWith("iVBOR");
  });

  test("a stream has partial images, then the image with usage", async () => {
    const parameters = { model, prompt: "otter", stream: true, partial_images: 2 } as const;
    const events = await Array.fromAsync(await openai.images.generate(parameters));
    const partial = "image_generation.partial_image";
    const types = events.map((event) => event.type as string);
    expect(types).toEqual([partial, partial, "image_generation.completed"]);
    expect(events[1]).toMatchObject({ partial_image_index: 1, size: "1024x1024" });
    expect(events[2]).toMatchObject({ usage: { input_tokens: fakeTokens("otter") } });
  });

  test.each<[Record<string, unknown>, string, string | null, string]>([
    [
      { response_format: "url" },
      "unknown_parameter",
      "response_format",
      "Unknown parameter: 'resp",
    ],
    [{ style: "vivid" }, "unknown_parameter", "style", "Unknown parameter: 'style'."],
    [
      { quality: "hd" },
      "invalid_value",
      "quality",
      "Invalid value: 'hd'. Supported values are: 'l",
    ],
    [{ size: "1792x936" }, "invalid_value", "size", "Invalid size '1792x936'. Width and height"],
    [{ n: 11 }, "integer_above_max_value", "n", "Invalid 'n': integer above maximum value. Exp"],
    [{ n: "2" }, "invalid_type", "n", "Invalid type for 'n': expected an integer, but got a str"],
    [{ prompt: null }, "missing_required_parameter", "prompt", "Missing required parameter: 'pro"],
    [{ background: "transparent" }, "invalid_value", null, "Transparent background is not supp"],
    [{ model: "dall-e-3", size: "256x256" }, "invalid_size", null, "The size is not supported by"],
    [{ model: "dall-e-3", moderation: "low" }, "unknown_parameter", "moderation", "Unknown para"],
    [{ model: "nope" }, "model_not_found", null, "The model `nope` does not exist or you do not"],
  ])("refuses %j", async (fields, code, param, message) => {
    const response = await post("/images/generations", { model, prompt: "otter", ...fields });
    const error = await errorOf(response);
    expect(error).toMatchObject({ code, param });
    expect(error.message).toStartWith(message);
  });

  test("a forbidden prompt is blocked, with details", async () => {
    const response = await post("/images/generations", { model, prompt: "a Forbidden otter" });
    expect(await errorOf(response)).toMatchObject({
      type: "image_generation_user_error",
      code: "moderation_blocked",
      moderation_details: { moderation_stage: "input", categories: ["violence"] },
    });
  });
});

describe("edits", () => {
  const png = () => toFile(otter, "a.png", { type: "image/png" });

  test("one image arrives as image, several as image[], and each part is recorded", async () => {
    await openai.images.edit({ model, prompt: "hat", image: await png() });
    const image = [await png(), await png()];
    const parameters = {
      model,
      prompt: "hat",
      image,
      mask: await png(),
      n: 2,
      stream: false,
    } as const;
    const several = await openai.images.edit(parameters);
    expect(several.data).toHaveLength(2);
    expect(several.usage?.input_tokens_details.image_tokens).toBe(2 * 194);
    const [one, two] = fake.requests.map(({ form }) => form!.map(({ field }) => field).sort());
    expect(one).toEqual(["image", "model", "prompt"]);
    expect(two).toEqual(["image[]", "image[]", "mask", "model", "n", "prompt", "stream"]);
    expect(fake.requests[0]!.form!.find(({ field }) => field === "image")).toEqual({
      field: "image",
      filename: "a.png",
      type: "image/png",
      size: otter.length,
      sha256: new Bun.CryptoHasher("sha256").update(otter).digest("hex"),
      image: { format: "png", width: 64, height: 64 },
    });
  });

  test("an edit can be streamed", async () => {
    const parameters = { model, prompt: "hat", image: await png(), stream: true } as const;
    const events = await Array.fromAsync(await openai.images.edit(parameters));
    expect(events.map((event) => event.type as string)).toEqual(["image_edit.completed"]);
  });

  const file = (type = "image/png", bytes: Uint8Array = otter) =>
    new File([new Uint8Array(bytes)], "a", { type });
  const mask = new File(
    [new Uint8Array(fakeImage("", 0, { format: "png", width: 8, height: 8 }))],
    "m",
    { type: "image/png" },
  );
  test.each<[string, [string, string | Blob][], string, string]>([
    [
      "image twice",
      [
        ["image", file()],
        ["image", file()],
      ],
      "duplicate_parameter",
      "Duplicate par",
    ],
    [
      "octets",
      [["image", file("application/octet-stream")]],
      "unsupported_file_mimetype",
      "Invalid file 'image': unsupported mimetype ('application/octet-stream')",
    ],
    [
      "a file that is not an image",
      [["image", file("image/png", Buffer.from("Exa"))]],
      "invalid_image_file",
      "Inv",
    ],
    ["a text", [["image", "text"]], "invalid_type", "Invalid type for 'image': expected one of an"],
    ["nothing", [], "missing_required_parameter", "Missing required parameter: 'image'."],
    [
      "moderation",
      [
        ["image", file()],
        ["moderation", "low"],
      ],
      "unknown_parameter",
      "Unknown par",
    ],
    [
      "n twice",
      [
        ["image", file()],
        ["n", "2"],
        ["n", "3"],
      ],
      "duplicate_parameter",
      "Duplicate p",
    ],
    [
      "a small mask",
      [
        ["image", file()],
        ["mask", mask],
      ],
      "invalid_image_file",
      "Invalid mask",
    ],
    [
      "17 images",
      Array.from({ length: 17 }, () => ["image[]", file()]),
      "array_above_max_length",
      "Invalid 'image': array too long.",
    ],
  ])("refuses %s", async (_name, parts, code, message) => {
    const body = new FormData();
    for (const [field, value] of [["model", model], ["prompt", "hat"], ...parts] as const)
      body.append(field, value);
    const headers = { authorization };
    const response = await fetch(`${fake.url}/images/edits`, { method: "POST", headers, body });
    const error = await errorOf(response);
    expect([response.status, error.code]).toEqual([400, code]);
    expect(error.message).toStartWith(message);
  });

  test("the JSON form accepts references", async () => {
    const image_url = `data:image/png;base64,${Buffer.from(otter).toString("base64")}`;
    const images = [{ image_url }, { file_id: "file-1" }];
    const body = { model, prompt: "hat", images, moderation: "low" };
    expect((await post("/images/edits", body)).status).toBe(200);
    const both = { ...body, images: [{ image_url, file_id: "x" }] };
    expect((await post("/images/edits", both)).status).toBe(400);
    const response = await post("/images/edits", { ...body, image: 1 });
    expect((await errorOf(response)).code).toBe("unknown_parameter");
  });

  test("a truncated form is refused", async () => {
    const response = await fetch(`${fake.url}/images/edits`, {
      method: "POST",
      headers: { authorization, "content-type": "multipart/form-data; boundary=b" },
      body: '--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\nhat',
    });
    expect(response.status).toBe(400);
  });
});
