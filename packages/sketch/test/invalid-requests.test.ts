/** Guarantees for invalid requests: the error names the parameter and the supported values. */
import { describe, expect, test } from "bun:test";
import type { ImageInput, SketchErrorCode, SketchOptions } from "../src/index.ts";
import {
  drawRequest,
  type EditParts,
  edit,
  editRequest,
  expectRefused,
  fromBytes,
  generate,
  maskWith,
  photo,
  refusal,
  stream,
} from "./fixture.ts";

describe("an invalid option is refused by name", () => {
  const cases: readonly (readonly [options: SketchOptions, param: string])[] = [
    [{ size: "17x9" }, "size"],
    [{ size: "4097x100" }, "size"],
    [{ size: "4096x4096" }, "size"],
    [{ size: "big" }, "size"],
    [{ size: "1024X1024" }, "size"],
    [{ quality: "ultra" }, "quality"],
    [{ background: "green" }, "background"],
    [{ background: "transparent", output_format: "jpeg" }, "background"],
    [{ output_format: "bmp" }, "output_format"],
    [{ output_compression: 101 }, "output_compression"],
    [{ output_compression: 50 }, "output_compression"],
    [{ output_compression: 50, output_format: "gif" }, "output_compression"],
    [{ n: 0 }, "n"],
    [{ n: 11 }, "n"],
    [{ n: 1.5 }, "n"],
    [{ n: 2, output_format: "svg" }, "n"],
    [{ frame_count: 4 }, "frame_count"],
    [{ frame_duration_ms: 100 }, "frame_duration_ms"],
    [{ frame_count: 17, output_format: "gif" }, "frame_count"],
    [{ frame_duration_ms: 0, output_format: "gif" }, "frame_duration_ms"],
    [{ partial_images: 4 }, "partial_images"],
    [{ style: "loud" }, "style"],
    [{ moderation: "none" }, "moderation"],
    [{ complexity: "extreme" }, "complexity"],
    [{ input_fidelity: "medium" }, "input_fidelity"],
    [{ response_format: "xml" }, "response_format"],
    [{ svg: { model: "any" } }, "svg"],
  ];
  for (const [options, param] of cases) {
    test(`${JSON.stringify(options)}`, () =>
      expectRefused(() => generate("a cat", options), "invalid_value", param));
  }

  test("the message lists the supported values", async () => {
    expect((await refusal(() => generate("a cat", { quality: "ultra" }))).message).toBe(
      "Invalid value: 'ultra'. Supported values are: 'auto', 'standard', 'hd', 'low', 'medium', 'high', 'xhigh', and 'max'.",
    );
    expect((await refusal(() => generate("a cat", { moderation: "none" }))).message).toBe(
      "Invalid value: 'none'. Supported values are: 'low' and 'auto'.",
    );
    expect((await refusal(() => generate("a cat", { size: "17x9" }))).message).toStartWith(
      "Invalid size '17x9'.",
    );
  });

  test("a seed that is a text is refused", async () => {
    await expectRefused(() => generate("a cat", { seed: "7" }), "invalid_value", "seed");
  });

  test("png accepts output_compression 100, the default", async () => {
    expect((await generate("a cat", { output_compression: 100 })).images).toHaveLength(1);
  });

  test("a prompt of 32000 characters is accepted, a longer one is refused", async () => {
    expect((await generate("cat ".repeat(8000), { size: "32x32" })).images).toHaveLength(1);
    await expectRefused(() => generate("x".repeat(32_001)), "prompt_too_long", "prompt");
  });

  test("a stream of gif or svg is refused", async () => {
    for (const output_format of ["gif", "svg"])
      await expectRefused(() => stream("a cat", { output_format }), "invalid_value", "stream");
  });
});

describe("an edit refuses inputs that it cannot read", () => {
  const editOf =
    (image: ImageInput, parts: EditParts = {}) =>
    () =>
      drawRequest(editRequest("a cat", [image], parts));
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

  const images: readonly (readonly [name: string, image: ImageInput, code: SketchErrorCode])[] = [
    ["a link", { kind: "url", url: "https://example.com/cat.png" }, "invalid_value"],
    ["a file id", { kind: "file_id", id: "file-1" }, "invalid_value"],
    ["text", fromBytes(bytes("hello there")), "unsupported_file_mimetype"],
    [
      "an svg",
      fromBytes(bytes('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')),
      "unsupported_file_mimetype",
    ],
    ["nothing", fromBytes(new Uint8Array()), "unsupported_file_mimetype"],
    [
      "a broken png",
      fromBytes(Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), bytes("not an image")])),
      "invalid_image_file",
    ],
    [
      "a data: URL that is not base64",
      { kind: "url", url: "data:image/png,abc" },
      "invalid_image_file",
    ],
    [
      "a data: URL of text",
      { kind: "url", url: `data:text/plain;base64,${btoa("hello")}` },
      "unsupported_file_mimetype",
    ],
  ];
  for (const [name, image, code] of images)
    test(name, () => expectRefused(editOf(image), code, "image"));

  test("a truncated image file is refused", async () => {
    const whole = await photo();
    await expectRefused(
      () => edit("a cat", [whole.subarray(0, whole.length >> 1)]),
      "invalid_image_file",
      "image",
    );
  });

  test("more than sixteen images are refused", async () => {
    const one = await photo(20, 20);
    await expectRefused(
      () =>
        edit(
          "a cat",
          Array.from({ length: 17 }, () => one),
        ),
      "invalid_value",
      "image",
    );
  });

  test("masks of another size, without alpha, without transparent pixels, or that are not png are refused", async () => {
    const image = await photo();
    const opaque = { left: 0, top: 0, width: 0, height: 0 };
    for (const mask of [
      await maskWith({ width: 60, height: 90 }, { left: 9, top: 9, width: 9, height: 9 }),
      await photo(),
      await maskWith({ width: 120, height: 90 }, opaque),
    ]) {
      await expectRefused(() => edit("a cat", [image], { mask }), "invalid_value", "mask");
    }
    await expectRefused(
      () => edit("a cat", [image], { mask: bytes("GIF89a…") }),
      "invalid_image_file",
      "mask",
    );
  });

  test("svg output, gif output with a mask, and markup together with a mask are refused", async () => {
    const image = await photo();
    const mask = await maskWith(
      { width: 120, height: 90 },
      { left: 20, top: 20, width: 40, height: 40 },
    );
    await expectRefused(
      () => edit("a cat", [image], { options: { output_format: "svg" } }),
      "invalid_value",
      "output_format",
    );
    await expectRefused(
      () => edit("a cat", [image], { mask, options: { output_format: "gif" } }),
      "invalid_value",
      "mask",
    );
    await expectRefused(
      () => edit("a cat", [image], { mask, markup: image }),
      "invalid_value",
      "markup",
    );
  });
});
