/** Edits of large pictures, all at once, in forms without a length; and whether what went in is what the upstream got. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { noisePng } from "./png.ts";
import { rawCall } from "./raw-call.ts";
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

export interface LargePicture {
  readonly path: string;
  readonly sum: number;
}

/** 4096 pixels of three bytes in each row. */
const width = 4096;
const height = Math.floor((edits.megabytes * 1_000_000) / (3 * width));

export const makePictures = (folder: string): LargePicture[] =>
  Array.from({ length: edits.different }, (_, at) => {
    const path = join(folder, `large-${at}.png`);
    const picture = noisePng({ width, height }, at);
    writeFileSync(path, picture);
    return { path, sum: crc32(picture) };
  });

async function* formOf({ path }: LargePicture): AsyncGenerator<Uint8Array> {
  yield Buffer.from(opening);
  yield* Bun.file(path).stream();
  yield Buffer.from(closing);
}

async function upload(url: string, picture: LargePicture): Promise<void> {
  const pieces: Buffer[] = [];
  const { status } = await rawCall(url, {
    path: edits.path,
    type: `multipart/form-data; boundary=${boundary}`,
    body: formOf(picture),
    onPiece: (piece) => pieces.push(Buffer.from(piece)),
  });
  const answer = Buffer.concat(pieces).toString();
  if (status !== 200) throw new Error(`an edit was answered ${status}: ${answer.slice(0, 500)}`);
  const { picture_sum } = JSON.parse(answer) as { picture_sum?: number };
  if (picture_sum !== picture.sum)
    throw new Error("the upstream got another picture than was sent");
}

export async function uploadAll(url: string, pictures: readonly LargePicture[]): Promise<void> {
  const chosen = Array.from(
    { length: edits.count },
    (_, at) => pictures[at % pictures.length] as LargePicture,
  );
  await Promise.all(chosen.map((picture) => upload(url, picture)));
}
