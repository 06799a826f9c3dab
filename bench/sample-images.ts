/** The images that the bench's upstream returns, shared with the scenarios that verify them. */

import { noisePng, photoPng, type Shape } from "./png.ts";

const imageCache = new Map<string, Buffer>();

/** Created at the first use, because most processes need few of them. */
function once(name: string, make: () => Buffer): Buffer {
  const existing = imageCache.get(name);
  if (existing) return existing;
  const image = make();
  imageCache.set(name, image);
  return image;
}

/** 1.5 MB, and 2 MB in base64. */
const usual: Shape = { width: 1024, height: 512 };
/** 3 MB, and 4 MB in base64. */
const large: Shape = { width: 1024, height: 1024 };
const photo: Shape = { width: 1024, height: 1024 };

/** The number of different large images: an image in the wrong response is detected. */
export const largeKinds = 8;

export const usualImage = (): Buffer => once("usual", () => noisePng(usual, 0));
export const largeImage = (kind: number): Buffer =>
  once(`large ${kind}`, () => noisePng(large, kind));
export const photoImage = (): Buffer => once("photo", () => photoPng(photo));

const sizeOf = ({ width, height }: Shape): string => `${width}x${height}`;
const sizes = { usual: sizeOf(usual), large: sizeOf(large), photo: sizeOf(photo) } as const;

/** The last event of a stream, as OpenAI sends it. */
export function eventWith(
  entry: Readonly<Record<string, string>>,
  kind: keyof typeof sizes,
): string {
  const type = "image_generation.completed";
  const {
    created,
    data: _,
    ...metadata
  } = JSON.parse(responseWith({}, kind)) as { created: number } & {
    data: unknown;
  };
  const payload = { type, ...entry, created_at: created, ...metadata };
  return `event: ${type}\ndata: ${JSON.stringify(payload)}\n\n`;
}

/** A response body as OpenAI sends it. `entry`: the image, as base64 or as a link. */
export const responseWith = (
  entry: Readonly<Record<string, string>>,
  kind: keyof typeof sizes,
  more: Readonly<Record<string, unknown>> = {},
): string =>
  JSON.stringify({
    created: 1_713_833_628,
    background: "opaque",
    output_format: "png",
    quality: "low",
    size: sizes[kind],
    ...more,
    data: [entry],
    usage: {
      total_tokens: 466,
      input_tokens: 194,
      output_tokens: 272,
      input_tokens_details: { text_tokens: 0, image_tokens: 194 },
    },
  });

interface ImageEntry {
  readonly b64_json?: string;
}

/** The image in a response body, or an empty buffer. */
export function imageIn(body: string): Buffer {
  const event = /^event: image_generation\.completed\ndata: (.*)$/m.exec(body)?.[1];
  const { data, b64_json } = JSON.parse(event ?? body) as ImageEntry & { data?: ImageEntry[] };
  return Buffer.from(b64_json ?? data?.[0]?.b64_json ?? "", "base64");
}
