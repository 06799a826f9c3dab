/**
 * Concurrent edits of large images, as forms with chunked encoding, with a check that the upstream received the same
 * bytes.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { noisePng } from "./png.ts";
import { sendRaw } from "./raw-request.ts";
import { edits } from "./scenarios.ts";

const boundary = "----bench-0123456789";
const part = (head: string, body = "") =>
  `--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n${body}`;

const opening = [
  part('name="model"', "gpt-image-2\r\n"),
  part('name="prompt"', "a hat\r\n"),
  part('name="image"; filename="a.png"\r\ncontent-type: image/png'),
].join("");
const closing = `\r\n--${boundary}--\r\n`;

export interface LargeImage {
  readonly path: string;
  readonly sum: number;
}

/** 4096 pixels of three bytes per row. */
const width = 4096;
const height = Math.floor((edits.megabytes * 1_000_000) / (3 * width));

export const createImages = (folder: string): LargeImage[] =>
  Array.from({ length: edits.different }, (_, at) => {
    const path = join(folder, `large-${at}.png`);
    const image = noisePng({ width, height }, at);
    writeFileSync(path, image);
    return { path, sum: crc32(image) };
  });

async function* formOf({ path }: LargeImage): AsyncGenerator<Uint8Array> {
  yield Buffer.from(opening);
  yield* Bun.file(path).stream();
  yield Buffer.from(closing);
}

async function upload(url: string, image: LargeImage): Promise<void> {
  const parts: Buffer[] = [];
  const { status } = await sendRaw(url, {
    path: edits.path,
    type: `multipart/form-data; boundary=${boundary}`,
    body: formOf(image),
    onBytes: (bytes) => parts.push(Buffer.from(bytes)),
  });
  const body = Buffer.concat(parts).toString();
  if (status !== 200) throw new Error(`an edit got status ${status}: ${body.slice(0, 500)}`);
  const { image_sum } = JSON.parse(body) as { image_sum?: number };
  if (image_sum !== image.sum) throw new Error("the upstream received another image than was sent");
}

export async function uploadAll(url: string, images: readonly LargeImage[]): Promise<void> {
  const chosen = Array.from(
    { length: edits.count },
    (_, at) => images[at % images.length] as LargeImage,
  );
  await Promise.all(chosen.map((image) => upload(url, image)));
}
