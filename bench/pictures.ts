/** The pictures that the bench's upstream gives, known also to whoever looks at what becomes of them. */

import { noisePng, photoPng, type Shape } from "./png.ts";

const made = new Map<string, Buffer>();

/** Made when first asked for, as most processes need few of them. */
function once(name: string, make: () => Buffer): Buffer {
  const before = made.get(name);
  if (before) return before;
  const picture = make();
  made.set(name, picture);
  return picture;
}

/** 1.5 MB, and 2 MB in base64. */
const usual: Shape = { width: 1024, height: 512 };
/** 3 MB, and 4 MB in base64. */
const large: Shape = { width: 1024, height: 1024 };
const photo: Shape = { width: 1024, height: 1024 };

/** So many large ones are different from each other: what gets into the wrong answer is seen there. */
export const largeKinds = 8;

export const usualPicture = (): Buffer => once("usual", () => noisePng(usual, 0));
export const largePicture = (kind: number): Buffer =>
  once(`large ${kind}`, () => noisePng(large, kind));
export const photoPicture = (): Buffer => once("photo", () => photoPng(photo));

const sizeOf = ({ width, height }: Shape): string => `${width}x${height}`;
const told = { usual: sizeOf(usual), large: sizeOf(large), photo: sizeOf(photo) } as const;

/** As OpenAI streams, its last event. */
export function eventWith(
  entry: Readonly<Record<string, string>>,
  kind: keyof typeof told,
): string {
  const type = "image_generation.completed";
  const {
    created,
    data: _,
    ...facts
  } = JSON.parse(answerWith({}, kind)) as { created: number } & {
    data: unknown;
  };
  const payload = { type, ...entry, created_at: created, ...facts };
  return `event: ${type}\ndata: ${JSON.stringify(payload)}\n\n`;
}

/** As OpenAI answers. `entry`: the picture, in the way that it is handed over. */
export const answerWith = (
  entry: Readonly<Record<string, string>>,
  kind: keyof typeof told,
  more: Readonly<Record<string, unknown>> = {},
): string =>
  JSON.stringify({
    created: 1_713_833_628,
    background: "opaque",
    output_format: "png",
    quality: "low",
    size: told[kind],
    ...more,
    data: [entry],
    usage: {
      total_tokens: 466,
      input_tokens: 194,
      output_tokens: 272,
      input_tokens_details: { text_tokens: 0, image_tokens: 194 },
    },
  });

interface Entry {
  readonly b64_json?: string;
}

/** The picture in an answer, or nothing at all. */
export function pictureIn(answer: string): Buffer {
  const event = /^event: image_generation\.completed\ndata: (.*)$/m.exec(answer)?.[1];
  const { data, b64_json } = JSON.parse(event ?? answer) as Entry & { data?: Entry[] };
  return Buffer.from(b64_json ?? data?.[0]?.b64_json ?? "", "base64");
}
