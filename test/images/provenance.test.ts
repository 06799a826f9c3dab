/** The provenance of an image (its C2PA manifest) is passed on, or a conversion that removes it says so. */
import { beforeEach, describe, expect, test } from "bun:test";
import sharp from "sharp";
import { base64Of } from "../conformance/arrange.ts";
import { eventsOf } from "../faults/faults-fixture.ts";
import { startImageGateway } from "./image-gateway-fixture.ts";
import { type SignedFormat, sign } from "./signed-image.ts";

let respond: () => Response;
const { gateway, generate } = startImageGateway({
  model: "plain",
  respond: () => respond(),
  yaml: (url) => `
upstreams:
  - { id: shapes, kind: xai, baseUrl: "${url}/v1", apiKey: x }
  - { id: openai, kind: openai, baseUrl: "${url}/v1", apiKey: x }
models:
  - { id: plain, kind: image, targets: [{ upstream: shapes, model: grok-imagine-image }] }
  - { id: gpt, kind: image, targets: [{ upstream: openai, model: gpt-image-1 }] }`,
});
beforeEach(() => gateway.resetTargets());

const pixels = sharp({ create: { width: 64, height: 64, channels: 3, background: "#808080" } });
const images: Readonly<Record<SignedFormat, Buffer>> = {
  png: await pixels.png().toBuffer(),
  jpeg: await pixels.jpeg().toBuffer(),
  webp: await pixels.webp().toBuffer(),
  gif: await pixels.gif().toBuffer(),
  avif: await pixels.avif().toBuffer(),
};
const formats = Object.keys(images) as SignedFormat[];
const typeOf = async (image: Buffer) => (await sharp(image).metadata()).format as string;

const send = (...sent: readonly Uint8Array[]) =>
  Response.json({ created: 1, data: sent.map((image) => ({ b64_json: base64Of(image) })) });

async function read(response: Response) {
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const { data } = JSON.parse(text) as { data: { b64_json: string }[] };
  return {
    images: data.map(({ b64_json }) => Buffer.from(b64_json, "base64")),
    dropped: response.headers.get("vexel-dropped"),
  };
}

const droppedInLedger = (): unknown =>
  (JSON.parse(gateway.rows().at(-1)?.timeline ?? "{}") as { d?: unknown }).d;

describe("a signed image", () => {
  test.each(formats)(
    "that is converted from %s loses its provenance, and the header and the ledger say so",
    async (format) => {
      respond = () => send(sign(images[format], format));
      const wanted = format === "webp" ? "png" : "webp";
      const { images: received, dropped } = await read(await generate({ output_format: wanted }));
      expect(dropped).toBe("provenance");
      expect(await typeOf(received[0]!)).toBe(wanted);
      expect(received[0]!.includes("c2pa")).toBe(false);
      expect(droppedInLedger()).toEqual(["provenance"]);
    },
  );

  test.each(formats)("that needs no change is passed on untouched: %s", async (format) => {
    const signed = sign(images[format], format);
    respond = () => send(signed);
    const isRequestable = format === "png" || format === "jpeg" || format === "webp";
    for (const options of [{}, ...(isRequestable ? [{ output_format: format }] : [])]) {
      const { images: received, dropped } = await read(await generate(options));
      expect(base64Of(received[0]!)).toBe(base64Of(signed));
      expect(dropped).toBeNull();
    }
  });

  test("without transparent pixels is untouched by a request for an opaque background", async () => {
    for (const format of ["png", "jpeg", "webp", "avif"] as const) {
      // Thumbnails may precede the part of the file that says whether it has an alpha channel.
      const signed = sign(images[format], format, 300_000);
      respond = () => send(signed);
      const { images: received, dropped } = await read(await generate({ background: "opaque" }));
      expect(base64Of(received[0]!)).toBe(base64Of(signed));
      expect(dropped).toBeNull();
    }
  });

  test("that is compressed again by the gateway loses its provenance, and the header says so", async () => {
    respond = () => send(sign(images.jpeg, "jpeg"));
    const options = { output_format: "jpeg", output_compression: 40 };
    expect((await read(await generate(options))).dropped).toBe("provenance");
  });

  test("among others is reported, and a larger one that is on disk too", async () => {
    respond = () => send(images.png, sign(images.png, "png"));
    const options = { output_format: "jpeg" };
    expect((await read(await generate({ ...options, n: 2 }))).dropped).toBe("provenance");
    const noise = Buffer.from(Array.from({ length: 3 * 1500 * 1500 }, (_, at) => (at * at) % 251));
    const large = await sharp(noise, { raw: { width: 1500, height: 1500, channels: 3 } })
      .png({ compressionLevel: 0 })
      .toBuffer();
    respond = () => send(sign(large, "png"));
    expect((await read(await generate(options))).dropped).toBe("provenance");
  });
});

test("an image without a manifest is converted without a word about provenance", async () => {
  for (const format of formats) {
    respond = () => send(images[format]);
    const wanted = format === "webp" ? "png" : "webp";
    expect((await read(await generate({ output_format: wanted }))).dropped).toBeNull();
  }
});

describe("in a stream", () => {
  const event = (type: string, image: Uint8Array) =>
    `event: image_generation.${type}\ndata: ${JSON.stringify({ type: `image_generation.${type}`, b64_json: base64Of(image), partial_image_index: 0 })}\n\n`;
  const stream = (...events: readonly string[]) =>
    new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
  // The upstream ignores the format: its events are PNGs.
  const request = { model: "gpt", stream: true, partial_images: 1, output_format: "webp" };

  test("the lost provenance of a partial image is in the header, and in the ledger", async () => {
    const signed = sign(images.png, "png");
    respond = () => stream(event("partial_image", signed), event("completed", signed));
    const response = await generate(request);
    const events = eventsOf(await response.text());
    expect(events).toHaveLength(2);
    expect(response.headers.get("vexel-dropped")).toBe("provenance");
    expect(droppedInLedger()).toEqual(["provenance"]);
  });

  test("events that need no change are passed on untouched", async () => {
    const signed = sign(images.webp, "webp");
    respond = () => stream(event("partial_image", signed), event("completed", signed));
    const response = await generate(request);
    for (const { data } of eventsOf(await response.text())) {
      expect(data.b64_json).toBe(base64Of(signed));
    }
    expect(response.headers.get("vexel-dropped")).toBeNull();
    expect(droppedInLedger()).toBeUndefined();
  });
});
