/** Shared by the tests: requests, uploads, and access to decoded pixels. */
import { expect } from "bun:test";
import sharp from "sharp";
import {
  type CompletedImage,
  draw,
  type ImageFacts,
  type ImageInput,
  SketchError,
  type SketchErrorCode,
  type SketchEvent,
  type SketchOptions,
  type SketchRequest,
} from "../src/index.ts";

const neverAborted = new AbortController().signal;

/** A request that is not streamed, drawn to its end. */
export interface Drawn {
  readonly images: readonly CompletedImage[];
  /** Of the first image. */
  readonly facts: ImageFacts;
}

export async function collect(
  request: SketchRequest,
  signal: AbortSignal = neverAborted,
): Promise<SketchEvent[]> {
  const events: SketchEvent[] = [];
  for await (const event of draw(request, signal)) events.push(event);
  return events;
}

export const stream = (prompt: string, options: SketchOptions = {}): Promise<SketchEvent[]> =>
  collect({ prompt, options, stream: true });

export async function drawRequest(request: SketchRequest): Promise<Drawn> {
  const images = (await collect(request)).map((event) => {
    if (event.type !== "completed") throw new Error("a partial image came back");
    return event;
  });
  const [first] = images;
  if (first === undefined) throw new Error("no image came back");
  const { size, quality, background, output_format } = first;
  return { images, facts: { size, quality, background, output_format } };
}

export const generate = (prompt: string, options: SketchOptions = {}): Promise<Drawn> =>
  drawRequest({ prompt, options: { size: "128x128", ...options } });

export interface EditParts {
  readonly mask?: Uint8Array;
  readonly markup?: Uint8Array;
  readonly options?: SketchOptions;
  readonly stream?: boolean;
}

export const fromBytes = (bytes: Uint8Array): ImageInput => ({ kind: "bytes", bytes });

export const editRequest = (
  prompt: string,
  images: readonly ImageInput[],
  { mask, markup, options = {}, stream = false }: EditParts = {},
): SketchRequest => ({
  prompt,
  options,
  stream,
  edit: {
    images,
    ...(mask !== undefined && { mask: fromBytes(mask) }),
    ...(markup !== undefined && { markup: fromBytes(markup) }),
  },
});

export const edit = async (
  prompt: string,
  images: readonly Uint8Array[],
  parts: EditParts = {},
): Promise<Drawn> => drawRequest(editRequest(prompt, images.map(fromBytes), parts));

export function bytesOf({ images }: Drawn, index = 0): Uint8Array {
  const image = images[index];
  if (image === undefined) throw new Error(`there is no image ${index}`);
  return image.bytes;
}

export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8Array;
}

export async function pixelsOf(bytes: Uint8Array, page = 0): Promise<Pixels> {
  const { data, info } = await sharp(bytes, { page })
    .toColorspace("srgb")
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, rgba: data };
}

export const alphaOf = ({ rgba }: Pixels): number[] =>
  Array.from({ length: rgba.length / 4 }, (_, i) => rgba[i * 4 + 3] ?? 0);

/** The mean difference of two images of the same size, 0..255. */
export function apart(a: Pixels, b: Pixels): number {
  expect([a.width, a.height]).toEqual([b.width, b.height]);
  let sum = 0;
  for (let i = 0; i < a.rgba.length; i++) sum += Math.abs((a.rgba[i] ?? 0) - (b.rgba[i] ?? 0));
  return sum / a.rgba.length;
}

export async function refusal(work: () => Promise<unknown>): Promise<SketchError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof SketchError) return error;
    throw error;
  }
  throw new Error("the request was not refused");
}

export async function expectRefused(
  work: () => Promise<unknown>,
  code: SketchErrorCode,
  param: string,
): Promise<void> {
  const error = await refusal(work);
  expect({ code: error.code, param: error.param }).toEqual({ code, param });
  expect(error.message.length).toBeGreaterThan(10);
}

/** An image to edit: a smooth gradient with a hard-edged square, so that a moved pixel is noticed. */
export async function photo(width = 120, height = 90, alpha = false): Promise<Uint8Array> {
  const channels = alpha ? 4 : 3;
  const raw = Buffer.alloc(width * height * channels);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * channels;
      const inside = x > width * 0.3 && x < width * 0.6 && y > height * 0.3 && y < height * 0.7;
      raw[at] = inside ? 200 : (x * 255) / width;
      raw[at + 1] = inside ? 40 : (y * 255) / height;
      raw[at + 2] = (x * 7 + y * 13) % 256;
      if (alpha) raw[at + 3] = inside ? 255 : 0;
    }
  }
  return sharp(raw, { raw: { width, height, channels } }).png().toBuffer();
}

/** An opaque mask with a transparent rectangle; `rim` is the width of its half-transparent edge. */
export async function maskWith(
  size: { width: number; height: number },
  hole: { left: number; top: number; width: number; height: number },
  rim = 0,
): Promise<Uint8Array> {
  const raw = Buffer.alloc(size.width * size.height * 4);
  for (let y = 0; y < size.height; y++) {
    for (let x = 0; x < size.width; x++) {
      const inside =
        x >= hole.left && x < hole.left + hole.width && y >= hole.top && y < hole.top + hole.height;
      const core =
        x >= hole.left + rim &&
        x < hole.left + hole.width - rim &&
        y >= hole.top + rim &&
        y < hole.top + hole.height - rim;
      raw[(y * size.width + x) * 4 + 3] = core ? 0 : inside ? 128 : 255;
    }
  }
  return sharp(raw, { raw: { ...size, channels: 4 } })
    .png()
    .toBuffer();
}
