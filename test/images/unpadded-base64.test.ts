/** Base64 of an upstream without its padding is decoded like any other, and clients get it padded. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import sharp from "sharp";
import { arrange } from "../conformance/arrange.ts";

const { fake, gateway, close } = arrange();
beforeEach(() => fake.clear());
afterAll(() => close());

/** A JPEG whose base64 ends with `padding` padding characters (`=`). A comment segment sets its length. */
async function jpegOf(edge: number, padding: 1 | 2): Promise<Buffer> {
  const pixels = Buffer.alloc(edge * edge * 3);
  for (let at = 0; at < pixels.length; at++) pixels[at] = Math.imul(at, 2_654_435_761) >>> 24;
  const plain = await sharp(pixels, { raw: { width: edge, height: edge, channels: 3 } })
    .jpeg({ quality: 100 })
    .toBuffer();
  const extra = (3 - padding + 3 - ((plain.length + 4) % 3)) % 3;
  const comment = Buffer.alloc(4 + extra);
  comment.set([0xff, 0xfe, 0, 2 + extra]);
  const jpeg = Buffer.concat([plain.subarray(0, 2), comment, plain.subarray(2)]);
  expect(jpeg.toString("base64").match(/=*$/)?.[0]).toHaveLength(padding);
  return jpeg;
}

const generate = (more: object) =>
  gateway.post("/v1/images/generations", { model: "gpt-image-2", prompt: "an otter", ...more });

// The large image is spilled to disk; the small one stays in memory.
describe.each([
  ["small", 16],
  ["large", 500],
] as const)("a %s image in base64", (_, edge) => {
  describe.each([1, 2] as const)("that lacks %p characters of padding", (padding) => {
    /** The upstream responds with this JPEG. */
    const scriptJpeg = async (): Promise<Buffer> => {
      const jpeg = await jpegOf(edge, padding);
      const b64_json = jpeg.toString("base64").replace(/=+$/, "");
      const body = JSON.stringify({ created: 1, data: [{ b64_json }] });
      fake.script({ response: { status: 200, body } });
      return jpeg;
    };

    test("is delivered as padded base64 of the same bytes", async () => {
      const jpeg = await scriptJpeg();
      const response = await generate({});
      expect(response.status).toBe(200);
      const { data } = (await response.json()) as { data: { b64_json: string }[] };
      expect(data[0]?.b64_json === jpeg.toString("base64")).toBeTrue();
    });

    test("is delivered in a stream as padded base64 of the same bytes", async () => {
      const jpeg = await scriptJpeg();
      const events = await (await generate({ stream: true })).text();
      expect(events).toContain("event: image_generation.completed");
      const sent = /"b64_json":"([^"]*)"/.exec(events)?.[1];
      expect(sent === jpeg.toString("base64")).toBeTrue();
    });

    test("is delivered as a link to the same bytes", async () => {
      const jpeg = await scriptJpeg();
      const response = await generate({ response_format: "url" });
      const { data } = (await response.json()) as { data: { url: string }[] };
      const file = await fetch(data[0]?.url ?? "");
      expect(file.status).toBe(200);
      expect(jpeg.equals(await file.bytes())).toBeTrue();
    });

    test("is converted to another format", async () => {
      await scriptJpeg();
      const response = await generate({ output_format: "webp" });
      expect(response.status).toBe(200);
      const { data } = (await response.json()) as { data: { b64_json: string }[] };
      const { format, width } = await sharp(Buffer.from(data[0]!.b64_json, "base64")).metadata();
      expect([format, width]).toEqual(["webp", edge]);
    });
  });
});
