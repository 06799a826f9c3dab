/** What the tests of the drawing program share: calls, uploads, and a look at real pixels. */
import { expect } from "bun:test";
import sharp from "sharp";
import type { FaultName } from "../../contract/faults.ts";
import { GatewayError } from "../../server/std/gateway-error.ts";
import type {
  EditQuery,
  FilePart,
  GenerationQuery,
  ImageFrame,
  ImageOptions,
  ImageReply,
  ImageSource,
  Rest,
  Target,
} from "../../server/upstream/contract.ts";
import { sketch } from "../../server/upstream/local/sketch/sketch.ts";

export const target: Target = {
  upstream: { id: "sketch", kind: "sketch", headers: {}, options: {} },
  model: "vexel-sketch",
};
const patient = new AbortController().signal;

export type Whole = Extract<ImageReply, { kind: "whole" }>;

export const drawing = (
  prompt: string,
  options: ImageOptions = {},
  rest: Rest = {},
): GenerationQuery => ({ model: "vexel-sketch", prompt, stream: false, options, rest });

export async function draw(
  prompt: string,
  options: ImageOptions = {},
  rest: Rest = {},
): Promise<Whole> {
  const query = drawing(prompt, { size: "128x128", ...options }, rest);
  return whole(await sketch.generations(query, target, patient));
}

export function whole(reply: ImageReply): Whole {
  if (reply.kind !== "whole") throw new Error("a stream came back");
  return reply;
}

export const upload = (bytes: Uint8Array, field = "image"): FilePart => ({
  field,
  filename: `${field}.png`,
  type: "image/png",
  size: bytes.length,
  stream: () => new Blob([bytes as Uint8Array<ArrayBuffer>]).stream(),
  bytes: async () => bytes,
});
export const fromFile = (bytes: Uint8Array): ImageSource => ({ kind: "file", file: upload(bytes) });

export interface EditParts {
  readonly mask?: Uint8Array;
  readonly files?: readonly FilePart[];
  readonly options?: ImageOptions;
  readonly stream?: boolean;
}

export const editing = (
  prompt: string,
  images: readonly ImageSource[],
  { mask, files = [], options = {}, stream = false }: EditParts = {},
): EditQuery => ({
  ...drawing(prompt, options),
  stream,
  images,
  files,
  ...(mask !== undefined && { mask: fromFile(mask) }),
});

export const edit = async (
  prompt: string,
  images: readonly Uint8Array[],
  parts: EditParts = {},
): Promise<Whole> =>
  whole(await sketch.edits(editing(prompt, images.map(fromFile), parts), target, patient));

export async function collect(query: GenerationQuery, signal = patient): Promise<ImageFrame[]> {
  const reply = await sketch.generations({ ...query, stream: true }, target, signal);
  if (reply.kind !== "stream") throw new Error("no stream came back");
  const events: ImageFrame[] = [];
  for await (const event of reply.events) if (event.type !== "whole") events.push(event);
  return events;
}

export function bytesOf(reply: Whole, index = 0): Uint8Array {
  const image = reply.results[index]?.image;
  if (image?.kind !== "bytes") throw new Error("no bytes came back");
  return image.bytes;
}

export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8Array;
}

export async function pixelsOf(bytes: Uint8Array, page = 0): Promise<Pixels> {
  const { data, info } = await sharp(bytes, { page })
    .toColourspace("srgb")
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, rgba: data };
}

export const alphaOf = ({ rgba }: Pixels): number[] =>
  Array.from({ length: rgba.length / 4 }, (_, i) => rgba[i * 4 + 3] ?? 0);

/** Mean difference of two pictures of one size, 0..255. */
export function apart(a: Pixels, b: Pixels): number {
  expect([a.width, a.height]).toEqual([b.width, b.height]);
  let sum = 0;
  for (let i = 0; i < a.rgba.length; i++) sum += Math.abs((a.rgba[i] ?? 0) - (b.rgba[i] ?? 0));
  return sum / a.rgba.length;
}

export async function refusal(work: () => Promise<unknown>): Promise<GatewayError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

export async function expectRefused(
  work: () => Promise<unknown>,
  fault: FaultName,
  param: string,
): Promise<void> {
  const error = await refusal(work);
  expect({ fault: error.fault, param: error.details.param }).toEqual({ fault, param });
  expect(error.message.length).toBeGreaterThan(10);
}

/** A picture to edit: a smooth gradient with a hard-edged square, so that every pixel tells its place. */
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

/** Opaque, with a see-through rectangle; `soft` gives it a half-transparent rim. */
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
