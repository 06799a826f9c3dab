/** Promises of the drawing program about what it refuses: each option by name, with what it would take. */
import { describe, expect, test } from "bun:test";
import type { FaultName } from "../../contract/faults.ts";
import type { ImageOptions } from "../../server/upstream/contract.ts";
import { sketch } from "../../server/upstream/local/sketch/sketch.ts";
import {
  collect,
  draw,
  drawing,
  edit,
  editing,
  expectRefused,
  fromFile,
  maskWith,
  photo,
  refusal,
  target,
  upload,
} from "./sketch-fixture.ts";

const patient = new AbortController().signal;

describe("an option that is not allowed is refused by name", () => {
  const cases: readonly (readonly [options: ImageOptions, param: string])[] = [
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
      expectRefused(() => draw("a cat", options), "invalid_value", param));
  }

  test("the message says what would be taken", async () => {
    expect((await refusal(() => draw("a cat", { quality: "ultra" }))).message).toBe(
      "Invalid value: 'ultra'. Supported values are: 'auto', 'standard', 'hd', 'low', 'medium', 'high', 'xhigh', and 'max'.",
    );
    expect((await refusal(() => draw("a cat", { size: "17x9" }))).message).toStartWith(
      "Invalid size '17x9'.",
    );
  });

  test("seed must be a whole number", async () => {
    await expectRefused(() => draw("a cat", {}, { seed: "7" }), "invalid_value", "seed");
  });

  test("png takes the default compression", async () => {
    expect((await draw("a cat", { output_compression: 100 })).results).toHaveLength(1);
  });

  test("a prompt of 32000 characters is read, one more is not", async () => {
    expect((await draw("cat ".repeat(8000), { size: "32x32" })).results).toHaveLength(1);
    await expectRefused(() => draw("x".repeat(32_001)), "prompt_too_long", "prompt");
  });

  test("gif and svg are not streamed", async () => {
    for (const output_format of ["gif", "svg"])
      await expectRefused(
        () => collect(drawing("a cat", { output_format })),
        "invalid_value",
        "stream",
      );
  });
});

describe("an edit refuses what it cannot read", () => {
  const ask =
    (image: Parameters<typeof editing>[1][number], more: Parameters<typeof editing>[2] = {}) =>
    () =>
      sketch.edits(editing("a cat", [image], more), target, patient);
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

  const images: readonly (readonly [
    name: string,
    image: Parameters<typeof editing>[1][number],
    fault: FaultName,
  ])[] = [
    ["a link", { kind: "url", url: "https://example.com/cat.png" }, "invalid_value"],
    ["a file id", { kind: "file_id", id: "file-1" }, "invalid_value"],
    ["text", fromFile(bytes("hello there")), "unsupported_file_mimetype"],
    [
      "an svg",
      fromFile(bytes('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')),
      "unsupported_file_mimetype",
    ],
    ["nothing", fromFile(new Uint8Array()), "unsupported_file_mimetype"],
    [
      "a broken png",
      fromFile(Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), bytes("not a picture")])),
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
  for (const [name, image, fault] of images)
    test(name, () => expectRefused(ask(image), fault, "image"));

  test("a picture cut short", async () => {
    const whole = await photo();
    await expectRefused(
      () => edit("a cat", [whole.subarray(0, whole.length >> 1)]),
      "invalid_image_file",
      "image",
    );
  });

  test("more than sixteen pictures", async () => {
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

  test("masks of another size, without alpha, without a hole, or that are no png", async () => {
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

  test("svg, an animated mask, and markup together with a mask", async () => {
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
      () => edit("a cat", [image], { mask, files: [upload(image, "markup")] }),
      "invalid_value",
      "markup",
    );
  });
});
