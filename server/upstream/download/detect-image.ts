/** Checks the magic bytes of a download: whether it is an image, before its other bytes arrive. */
import { sniffImage } from "../../lib/sniff-image.ts";
import { DownloadError } from "./download-error.ts";

/** An SVG must begin within this many bytes. */
const startBytes = 1024;

/** Passes the chunks through if they are an image. Throws DownloadError. */
export async function* imageChunks(
  chunks: AsyncIterable<Uint8Array>,
  svg: boolean,
): AsyncGenerator<Uint8Array> {
  let start: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (!start) {
      yield chunk;
      continue;
    }
    start = Buffer.concat([start, chunk]);
    if (start.length < startBytes) continue;
    checkMagicBytes(start, svg);
    yield start;
    start = undefined;
  }
  if (!start) return;
  checkMagicBytes(start, svg);
  yield start;
}

export function checkMagicBytes(start: Uint8Array, svg: boolean): void {
  if (sniffImage(start) !== undefined || (svg && beginsSvg(start))) return;
  const kinds = svg ? "PNG, JPEG, WebP, GIF, AVIF or SVG" : "PNG, JPEG, WebP, GIF or AVIF";
  throw new DownloadError("invalid", `it is not an image in ${kinds}`, "not an image");
}

/** Text before an SVG element. The parts are unambiguous, so the expression cannot backtrack exponentially. */
const preface = /^\uFEFF?(?:\s|<\?xml[^>]*>|<!--(?:(?!-->)[\s\S])*-->|<!doctype svg[^>]*>)*/i;

/** An HTML page that contains an SVG is not an SVG. */
function beginsSvg(start: Uint8Array): boolean {
  const text = Buffer.from(start.subarray(0, startBytes)).toString("utf8");
  return /^<svg[\s>]/i.test(text.replace(preface, ""));
}
