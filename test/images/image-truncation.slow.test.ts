/** A truncated image is not delivered; complete images beside it are, and all of them are recorded. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { checkTruncation } from "../../server/images/check-truncation.ts";
import { bytesOf } from "../../server/images/image-head.ts";
import { limitImages, postProcess } from "../../server/images/post-process.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { createRequestTemp } from "../../server/temp-storage/request-temp.ts";
import { readDocument } from "../../server/upstream/adapters/wire/document.ts";
import { imageContentIn } from "../../server/upstream/adapters/wire/image-list.ts";
import { collectImage } from "../../server/upstream/collect-image.ts";
import type { ImageContent, ImageEvent } from "../../server/upstream/contract.ts";
import { base64Of } from "../conformance/arrange.ts";
import { temporaryFolder } from "../harness.ts";
import { createImage } from "../image-vendors/test-images.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";
import { errorOf, startImageGateway } from "./image-gateway-fixture.ts";

const folder = temporaryFolder();
const temp = createRequestTemp(folder.path);
afterAll(async () => {
  await temp.clear();
  folder[Symbol.dispose]();
});

const kinds = ["png", "jpeg", "webp"] as const;
const canvases = {
  small: { width: 64, height: 48 },
  large: { width: 480, height: 400, noisy: true, quality: 100 },
} as const;

async function* inBlocks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 50_000) yield bytes.slice(at, at + 50_000);
}

/** Every form of an image: in memory or spilled to disk, raw or base64. */
async function everywhere(bytes: Uint8Array): Promise<Exclude<ImageContent, { kind: "url" }>[]> {
  const response = JSON.stringify({ b64_json: base64Of(bytes) });
  const read = (await readDocument(upstreamResponseOf(response), temp)) as { b64_json: unknown };
  return [
    { kind: "bytes", bytes },
    { kind: "base64", base64: base64Of(bytes) },
    await collectImage(inBlocks(bytes), temp),
    imageContentIn(read.b64_json) as Exclude<ImageContent, { kind: "url" }>,
  ];
}

const verdict = (image: Exclude<ImageContent, { kind: "url" }>): Promise<string> =>
  checkTruncation(image).then(
    () => "whole",
    (error: Error) => error.message,
  );

describe.each(["small", "large"] as const)("a %s image", (size) => {
  test.each(kinds)("%s that is complete passes, also with zeros or text after it", async (kind) => {
    const imageBytes = await createImage("whole", { ...canvases[size], kind });
    for (const tail of [Buffer.alloc(0), Buffer.alloc(5000), Buffer.from("made by a camera")]) {
      for (const image of await everywhere(Buffer.concat([imageBytes, tail]))) {
        expect(await verdict(image)).toBe("whole");
      }
    }
  });

  test.each(kinds)("a truncated %s is detected wherever it ends", async (kind) => {
    const imageBytes = await createImage("whole", { ...canvases[size], kind });
    for (const kept of [20, 0.1, 0.5, 0.98]) {
      const length = kept < 1 ? Math.floor(imageBytes.length * kept) : kept;
      for (const image of await everywhere(imageBytes.slice(0, length))) {
        expect(await verdict(image)).toContain("its image is truncated");
      }
    }
  });
});

test.each(kinds)("a paid %s with a long trailer after its end is delivered", async (kind) => {
  const imageBytes = await createImage("whole", { ...canvases.large, kind });
  for (const bytes of [9 * 1024, 300_000]) {
    for (const image of await everywhere(Buffer.concat([imageBytes, Buffer.alloc(bytes, "x")]))) {
      expect(await verdict(image)).toBe("whole");
    }
  }
});

test("a truncated JPEG is detected although the preview in its head is complete", async () => {
  const preview = await createImage("preview", { ...canvases.small, kind: "jpeg" });
  const imageBytes = await createImage("whole", { ...canvases.large, kind: "jpeg" });
  const segment = Buffer.from([0xff, 0xe1, 0, 0]);
  segment.writeUInt16BE(2 + preview.length, 2);
  const start = Buffer.concat([imageBytes.subarray(0, 2), segment, preview]);
  const half = imageBytes.subarray(2, imageBytes.length / 2);
  for (const image of await everywhere(Buffer.concat([start, half]))) {
    expect(await verdict(image)).toContain("its image is truncated");
  }
  for (const image of await everywhere(Buffer.concat([start, imageBytes.subarray(2)]))) {
    expect(await verdict(image)).toBe("whole");
  }
});

test("base64 with line breaks is decoded", async () => {
  const image = await createImage("whole", { ...canvases.small, kind: "png" });
  const lines = base64Of(image).replace(/.{76}/g, "$&\r\n");
  expect(await verdict({ kind: "base64", base64: lines })).toBe("whole");
  const large = await createImage("whole", { ...canvases.large, kind: "png" });
  const encoded = Buffer.from(base64Of(large).replace(/.{76}/g, "$&\r\n"));
  const spilled = await collectImage(inBlocks(encoded), temp);
  if (spilled.kind !== "spilled") throw new Error("it is large, and should be spilled");
  const start = encoded.subarray(0, 128);
  const inLines = { ...spilled.spilled, encoding: "base64", start } as const;
  expect(await verdict({ kind: "spilled", spilled: inLines })).toBe("whole");
  const cut = base64Of(image.slice(0, -30)).replace(/.{76}/g, "$&\r\n");
  expect(await verdict({ kind: "base64", base64: cut })).toContain("its image is truncated");
});

test("only the ends of a large complete image are read", async () => {
  const image = await createImage("whole", { ...canvases.large, kind: "png" });
  const [, , , spilledImage] = await everywhere(image);
  if (spilledImage?.kind !== "spilled") throw new Error("it is large, and should be spilled");
  const never = (): never => {
    throw new Error("all of it was read");
  };
  const { spilled } = spilledImage;
  const { length, encoding, start } = spilled;
  const end = (bytes: number) => spilled.tail(bytes);
  await checkTruncation({
    kind: "spilled",
    spilled: { length, encoding, start, tail: end, stream: never, bytes: never },
  });
});

describe("in a stream", () => {
  const imagePlan = (count: number) => ({
    postProcessing: {},
    stream: true,
    maxImages: count,
    requested: {},
  });
  const never = (): never => {
    throw new Error("nothing need be done");
  };
  const tools = {
    download: never,
    convert: never,
    isPrivate: never,
    onFailure: never,
    onUnconverted: never,
    onAdapted: never,
    onDropped: never,
    onUnusable: () => undefined,
  };
  async function* completed(...images: readonly string[]): AsyncGenerator<ImageEvent> {
    for (const base64 of images) {
      yield { type: "completed", image: { kind: "base64", base64 } };
    }
  }
  const deliver = async (count: number, ...images: readonly string[]) => {
    const events = completed(...images);
    const finished = await postProcess({ kind: "stream", events }, imagePlan(count), tools);
    const response = limitImages(count, finished);
    if (response.kind !== "stream") throw new Error("it was a stream");
    const delivered: string[] = [];
    try {
      for await (const event of response.events) {
        if (event.type !== "buffered") delivered.push(base64Of(await allBytes(event.image)));
      }
      return { delivered, kind: "none" };
    } catch (error) {
      return { delivered, kind: error instanceof GatewayError ? error.kind : String(error) };
    }
  };
  const image = async (seed: string) =>
    base64Of(await createImage(seed, { ...canvases.small, kind: "png" }));

  test("a truncated image is an error at the end, after the complete images", async () => {
    const [one, two] = [await image("one"), await image("two")];
    const half = one.slice(0, one.length / 2 - ((one.length / 2) % 4));
    const kind = "upstream_invalid";
    expect(await deliver(3, one, half, two)).toEqual({ delivered: [one, two], kind });
    expect(await deliver(1, half)).toEqual({ delivered: [], kind });
  });

  test("a truncated image beyond the requested number is ignored", async () => {
    const one = await image("one");
    expect(await deliver(1, one, one.slice(0, 400))).toEqual({ delivered: [one], kind: "none" });
  });

  test("images beyond the requested number are not delivered", async () => {
    const [one, two] = [await image("one"), await image("two")];
    expect(await deliver(2, one, two, one)).toEqual({ delivered: [one, two], kind: "none" });
  });
});

describe("through the gateway", () => {
  let upstreamResponse: object = {};
  const { gateway, generate } = startImageGateway({
    model: "d2",
    respond: () => Response.json({ created: 1, ...upstreamResponse }),
    yaml: (url) => `
upstreams: [{ id: fake, kind: openai, baseUrl: "${url}/v1", apiKey: x }]
models: [{ id: d2, kind: image, targets: [{ upstream: fake, model: dall-e-2 }] }]`,
  });
  let good = "";
  let half = "";
  beforeAll(async () => {
    const image = await createImage("whole", { ...canvases.large, kind: "png" });
    good = base64Of(image);
    half = base64Of(image.slice(0, image.length / 2));
  });

  test("a truncated image is an upstream error; its cost is recorded, and no delivered image", async () => {
    upstreamResponse = { data: [{ b64_json: half }] };
    const response = await generate({ size: "1024x1024" });
    expect(response.status).toBe(502);
    const error = await errorOf(response);
    expect(error.code).toBe("upstream_invalid");
    expect(error.message).toContain("its image is truncated");
    const row = gateway.rows().at(-1);
    expect(row).toMatchObject({ status: 502, error: "upstream_invalid", images: 0, cost: 0.02 });
  });

  test("the complete images are delivered; the ledger has their number, and the cost of all", async () => {
    upstreamResponse = { data: [{ b64_json: good }, { b64_json: half }, { b64_json: good }] };
    const response = await generate({ n: 3 });
    expect(response.headers.get("vexel-missing")).toBe("1; error=upstream_invalid");
    const { data } = (await response.json()) as { data: object[] };
    expect(data).toEqual([{ b64_json: good }, { b64_json: good }]);
    expect(gateway.rows().at(-1)).toMatchObject({ status: 200, images: 2, cost: 0.06 });
  });
});

async function allBytes(image: Parameters<typeof bytesOf>[0]): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of bytesOf(image)) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
