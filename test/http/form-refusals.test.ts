/** Invalid forms: each gets its own error, nothing is left on disk, and no upstream request is sent. */
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import {
  bearer,
  expectError,
  formOf,
  imageModel,
  openTempFiles,
  png,
  startGatewayWithFake,
} from "./gateway-fixture.ts";

const maxFile = 400_000;
const maxForm = 3_000_000;
const edge = startGatewayWithFake({
  settings: {
    VEXEL_MAX_FILE_BYTES: String(maxFile),
    VEXEL_MAX_UPLOAD_BYTES: String(maxForm),
  },
});
const { gateway, fake } = edge;
afterAll(() => edge.close());

afterEach(() => {
  expect(fake.requests).toHaveLength(0);
  expect(readdirSync(join(gateway.folder, "temp"))).toEqual([]);
  if (process.platform === "linux") expect(openTempFiles(gateway.folder)).toEqual([]);
});

const usual = [
  ["model", imageModel],
  ["prompt", "an otter"],
] as const;
const send = (body: FormData) =>
  fetch(`${gateway.url}/v1/images/edits`, { method: "POST", headers: bearer, body });
const sendText = (
  body: string | Uint8Array<ArrayBuffer> | ReadableStream,
  type = "multipart/form-data; boundary=b",
) =>
  fetch(`${gateway.url}/v1/images/edits`, {
    method: "POST",
    headers: { ...bearer, "content-type": type },
    body,
  });
const large = (bytes: number): Uint8Array<ArrayBuffer> => {
  const whole = new Uint8Array(bytes);
  whole.set(png.subarray(0, bytes));
  return whole;
};
const bytesOf = (text: string) => new TextEncoder().encode(text);
const part = (name: string, value: string, more = "") =>
  `--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;

describe("a form", () => {
  test.each<[string, string, string | undefined, string]>([
    ["without a boundary in its type", "--b--", "multipart/form-data", "names no boundary"],
    [
      "with another boundary than its type says",
      part("prompt", "a"),
      "multipart/form-data; boundary=c",
      "ends before",
    ],
    ["that is cut off in a head", "--b\r\ncontent-disposition: form-da", undefined, "ends before"],
    ["that is cut off before its closing boundary", part("prompt", "a"), undefined, "ends before"],
    ["that is empty", "", undefined, "ends before"],
    ["that is JSON", '{"model":"a"}', undefined, "ends before"],
    [
      "with a part without a name",
      "--b\r\ncontent-disposition: form-data\r\n\r\na\r\n--b--",
      undefined,
      "has no name",
    ],
  ])("%s is refused", async (_, body, type, message) => {
    expect(await expectError(await sendText(body, type), "invalid_form")).toContain(message);
  });

  test("cut off inside an image that is being spilled to disk, is refused", async () => {
    const head = part("image", "", '; filename="a.png"').slice(0, -2);
    const body = Buffer.concat([Buffer.from(head), large(390_000)]);
    await expectError(await sendText(new Uint8Array(body)), "invalid_form");
  });

  test("without parts lacks an image", async () => {
    await expectError(await sendText("--b--\r\n"), "missing_parameter", "image");
  });

  test("with too many files is refused", async () => {
    const files = Array.from({ length: 25 }, () => ["image[]", png] as const);
    const message = await expectError(await send(formOf(...usual, ...files)), "request_too_large");
    expect(message).toContain("too many files");
  });

  test("with too many fields is refused", async () => {
    const fields = Array.from({ length: 129 }, (_, at) => [`x${at}`, "a"] as const);
    const message = await expectError(await send(formOf(...fields)), "request_too_large");
    expect(message).toContain("too many fields");
  });

  test("beyond VEXEL_MAX_UPLOAD_BYTES is refused, announced or not", async () => {
    const files = Array.from({ length: 9 }, () => ["image[]", large(390_000)] as const);
    await expectError(await send(formOf(...usual, ...files)), "request_too_large");
    const written = new Response(formOf(...usual, ...files));
    const type = written.headers.get("content-type") ?? "";
    const streamed = await sendText(written.body as ReadableStream, type);
    const message = await expectError(streamed, "request_too_large");
    expect(message).toContain(String(maxForm));
  });
});

describe("a file", () => {
  test("of the maximum size is read, one byte more is refused", async () => {
    const fits = await send(formOf(...usual, ["image", large(maxFile)]));
    expect(fits.status).toBe(200);
    await fits.text();
    fake.clear();
    const message = await expectError(
      await send(formOf(...usual, ["image", large(maxFile + 1)])),
      "request_too_large",
      "image",
    );
    expect(message).toContain(String(maxFile));
  });

  test("too large is refused also as a mask, after an image on disk", async () => {
    const form = formOf(...usual, ["image", large(300_000)], ["mask", large(maxFile + 1)]);
    await expectError(await send(form), "request_too_large", "mask");
  });

  test.each(["image", "image[]", "image[0]", "mask"])(
    "%s that is empty is refused",
    async (name) => {
      const form = formOf(...usual, ["image", png], [name, new Uint8Array()]);
      await expectError(await send(form), "invalid_image_file", name.replace(/\[.*/, ""));
    },
  );

  test.each<[string, Uint8Array<ArrayBuffer>]>([
    ["text", bytesOf("this is a text, whatever its name says")],
    ["two bytes", Uint8Array.of(0x89, 0x50)],
    ["a PDF", bytesOf("%PDF-1.7\n%âãÏÓ\n1 0 obj\n")],
    ["an SVG, which is text", bytesOf('<svg xmlns="http://www.w3.org/2000/svg"/>')],
    ["nearly a PNG", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0b, 0, 0, 0, 13])],
    ["390,000 NUL bytes", new Uint8Array(390_000)],
  ])("that is not an image (%s) is refused by its bytes", async (_, bytes) => {
    const message = await expectError(
      await send(formOf(...usual, ["image", bytes])),
      "unsupported_file_mimetype",
      "image",
    );
    expect(message).toContain("'application/octet-stream'");
  });

  test("with the content type of an image and other bytes is refused", async () => {
    const form = formOf(...usual);
    form.append("image", new File(["plain text, and a lie"], "a.png", { type: "image/png" }));
    await expectError(await send(form), "unsupported_file_mimetype", "image");
  });

  test("is required: a text field of the same name is refused", async () => {
    for (const name of ["image", "image[]"]) {
      const form = formOf(...usual, [name, "data:image/png;base64,AAAA"]);
      await expectError(await send(form), "invalid_type", "image");
    }
  });

  test("is required: a form without it is refused", async () => {
    await expectError(await send(formOf(...usual)), "missing_parameter", "image");
    await expectError(await send(formOf(...usual, ["mask", png])), "missing_parameter", "image");
    await expectError(await send(formOf(...usual, ["picture", png])), "missing_parameter", "image");
  });

  test("beyond the sixteenth is refused", async () => {
    const files = Array.from({ length: 17 }, () => ["image[]", png] as const);
    const message = await expectError(
      await send(formOf(...usual, ...files)),
      "array_above_max_length",
      "image",
    );
    expect(message).toContain("maximum length 16, but got an array with length 17");
  });

  test("named mask may occur once", async () => {
    const form = formOf(...usual, ["image", png], ["mask", png], ["mask", png]);
    await expectError(await send(form), "duplicate_parameter", "mask");
  });
});

describe("a text field", () => {
  test("of more than 1 MiB is refused and named", async () => {
    const form = formOf(
      ["model", imageModel],
      ["prompt", "a".repeat(1024 * 1024 + 1)],
      ["image", png],
    );
    const message = await expectError(await send(form), "request_too_large", "prompt");
    expect(message).toContain("1048576");
  });

  test.each(["model", "prompt", "n", "size", "stream", "user", "output_format"])(
    "%s that is given twice is refused",
    async (name) => {
      const form = formOf(...usual, ["image", png], [name, "1"], [name, "1"]);
      await expectError(await send(form), "duplicate_parameter", name);
    },
  );

  test.each<[string, string, Parameters<typeof expectError>[1]]>([
    ["n", "many", "invalid_type"],
    ["n", "1.5", "invalid_type"],
    ["n", "1e3", "invalid_type"],
    ["n", " 1", "invalid_type"],
    ["n", "0", "integer_below_min_value"],
    ["n", "-1", "integer_below_min_value"],
    ["n", "99999999999999999999", "invalid_type"],
    ["stream", "yes", "invalid_type"],
    ["stream", "1", "invalid_type"],
    ["output_compression", "101", "integer_above_max_value"],
    ["partial_images", "4", "integer_above_max_value"],
    ["frame_count", "1", "integer_below_min_value"],
    ["frame_duration_ms", "-5", "integer_below_min_value"],
    ["response_format", "file", "invalid_value"],
    ["svg", "{}", "invalid_type"],
    ["prompt", "", "empty_string"],
  ])("%s=%s is refused", async (name, value, kind) => {
    const others = usual.filter(([other]) => other !== name);
    await expectError(await send(formOf(...others, ["image", png], [name, value])), kind, name);
  });

  test.each(["model", "prompt"])("%s that is missing is named in the error", async (name) => {
    const others = usual.filter(([other]) => other !== name);
    await expectError(await send(formOf(...others, ["image", png])), "missing_parameter", name);
  });

  test("that is sent as a file is refused", async () => {
    const form = formOf(["model", imageModel], ["prompt", png], ["image", png]);
    await expectError(await send(form), "missing_parameter", "prompt");
  });
});
