/** A converted image or mask fits the upstream's limits; otherwise the request fails before any upstream is called. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import sharp from "sharp";
import { prepareSources, type SourceTools } from "../../server/images/prepare-sources.ts";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type { FilePart } from "../../server/upstream/contract.ts";
import type { EditCapabilities } from "../../server/upstream/image-capabilities.ts";
import type { ImageConversion, ImageInspection } from "../../server/workers/image/messages.ts";
import {
  expectError,
  generated,
  never,
  speckled,
  upload,
} from "../workers/image-worker-fixture.ts";
import { startEdits, storedIn } from "./edit-fixture.ts";
import { edit as editOf, file, noise } from "./preflight-fixture.ts";

const { edit, editLinked, arrived, close } = startEdits();
beforeEach(() => {
  arrived.length = 0;
});
afterAll(close);

const limit = 4 * 1024 * 1024;
/** A jpeg of less than a megabyte that is a PNG of more than five. */
const heavy = noise(1400, 1400).jpeg({ quality: 20 }).toBuffer();
const errorOf = async (response: Response) =>
  ((await response.json()) as { error: { param: string; message: string } }).error;

describe("a model that reads PNG of up to 4 MiB", () => {
  test("is not called with a jpeg that becomes larger, and the error has its size and the fix", async () => {
    const photo = await heavy;
    expect(photo.length).toBeLessThan(limit);
    const response = await edit("d2", photo);
    expect([response.status, response.headers.get("x-should-retry")]).toEqual([400, "false"]);
    const { param, message } = await errorOf(response);
    expect(param).toBe("image");
    const [, size] =
      /as PNG.* has (\d+) bytes, and this model accepts at most 4194304\. Send/.exec(message) ?? [];
    expect(Number(size)).toBeGreaterThan(limit);
    expect(arrived).toHaveLength(0);
  });

  test("is skipped if another target of the model accepts the image", async () => {
    const photo = await heavy;
    expect((await edit("either", photo)).status).toBe(200);
    expect(arrived.map(({ model }) => model)).toEqual(["gpt-image-2"]);
    expect(Buffer.compare(arrived[0]?.images[0] ?? new Uint8Array(), photo)).toBe(0);
  });

  test("is not called with a larger image behind a link", async () => {
    const response = await editLinked(
      "d2",
      await noise(1300, 1300).png({ compressionLevel: 1 }).toBuffer(),
    );
    expect(response.status).toBe(413);
    expect((await errorOf(response)).param).toBe("images[0].image_url");
    expect(arrived).toHaveLength(0);
  });

  test("gets a mask without its colors, if the mask is too large with them", async () => {
    const pixels = speckled(1100, 1100, 4).map((value, i) => (i % 4 === 3 ? (i % 3) * 120 : value));
    const mask = await generated(pixels, 1100, 1100, 4).png({ compressionLevel: 1 }).toBuffer();
    expect(mask.length).toBeGreaterThan(limit);
    const image = await noise(1100, 1100).blur(3).ensureAlpha().png().toBuffer();
    expect((await edit("d2", image, mask)).status).toBe(200);
    const sent = arrived[0]?.mask ?? new Uint8Array();
    expect(sent.length).toBeLessThan(limit);
    const alpha = (all: Uint8Array) => Buffer.from(all.filter((_, i) => i % 4 === 3));
    expect(Buffer.compare(alpha((await storedIn(sent)).pixels), alpha(pixels))).toBe(0);
  });

  test.each(["jpeg", "png"] as const)(
    "gets a %s without transparency with an alpha channel, which it requires",
    async (kind) => {
      const response = await edit("d2", await noise(32, 32).toFormat(kind).toBuffer());
      expect([response.status, response.headers.get("vexel-adapted")]).toEqual([200, "image"]);
      const { format, hasAlpha } = await storedIn(arrived[0]?.images[0] ?? new Uint8Array());
      expect([format, hasAlpha]).toEqual(["png", true]);
    },
  );
});

test("a mask with a transparent color arrives with an alpha channel, which every program supports", async () => {
  const pixels = new Uint8Array(64 * 4).map((_, i) => (i % 4 === 3 && i > 128 ? 255 : 0));
  const mask = await generated(pixels, 8, 8, 4).png({ palette: true }).toBuffer();
  expect((await sharp(mask).metadata()).isPalette).toBeTrue();
  expect((await edit("form", await noise(8, 8).png().toBuffer(), mask)).status).toBe(200);
  const sent = arrived[0]?.mask ?? new Uint8Array();
  expect((await sharp(sent).metadata()).isPalette).toBeFalse();
  expect((await storedIn(sent)).pixels).toEqual(pixels);
});

describe("of the conversions that make an image small enough, the least lossy is used", () => {
  const inspection: ImageInspection = {
    type: "image/webp",
    width: 8,
    height: 8,
    pages: 1,
    alpha: false,
    alphaChannel: false,
    opaque: true,
    orientation: 1,
  };
  /** Every way makes a file of 1000 bytes, unless it is set here. */
  const tried = async (
    edits: Partial<EditCapabilities>,
    sizes: Record<string, number>,
    more = inspection,
  ) => {
    const ways: string[] = [];
    const nameOf = ({ format, quality }: ImageConversion) =>
      `${format}${quality ? ` ${quality}` : ""}`;
    const tools: SourceTools = {
      fetchSource: () => Promise.reject(new Error("There is no link.")),
      inspect: async () => more,
      convertMask: async (mask) => mask,
      convertFile: async (from, to): Promise<FilePart> => {
        ways.push(nameOf(to));
        return { ...from, type: `image/${to.format}`, size: sizes[nameOf(to)] ?? 1000 };
      },
    };
    const gif = { ...upload(new Uint8Array(10)), type: "image/gif" };
    const query = { ...editOf([]), images: [file(gif)] };
    const made = prepareSources(query, {
      edits: { maxImages: 1, maxBytes: 500, ...edits },
      tools,
      task: { signal: never, temp: noRequestTemp, key: "" },
      onAdapted: () => undefined,
    });
    return { made, ways };
  };

  test("down to a jpeg, if the upstream accepts it", async () => {
    const { made, ways } = await tried({ reads: ["image/png", "image/jpeg"] }, { "jpeg 85": 400 });
    await made;
    expect(ways).toEqual(["png", "jpeg", "jpeg 85"]);
  });

  test("no conversion drops frames of an animation, or transparency that the upstream accepts", async () => {
    const clear = { ...inspection, alpha: true, alphaChannel: true, opaque: false };
    const { made, ways } = await tried({}, { jpeg: 400 }, clear);
    await expectError(made, "invalid_value", /as PNG or JPEG or WEBP.* has 1000 bytes/);
    expect(ways).toEqual(["png"]);
    const onlyWebp = await tried({ reads: ["image/webp"] }, { webp: 400 }, clear);
    await onlyWebp.made;
    expect(onlyWebp.ways).toEqual(["webp"]);
    const onlyJpeg = await tried({ reads: ["image/jpeg"] }, { jpeg: 400 }, clear);
    await onlyJpeg.made;
    expect(onlyJpeg.ways).toEqual(["jpeg"]);
  });
});
