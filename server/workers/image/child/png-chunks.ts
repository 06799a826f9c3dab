/** Lists the chunks of a PNG file by their headers. */
import type { ImageInput } from "./image-input.ts";

interface PngChunk {
  readonly kind: string;
  /** The offset of its header. */
  readonly at: number;
  /** The length of its content, which begins eight bytes later. */
  readonly length: number;
}

/** Complete chunks up to `IEND`: decoders ignore what follows it, such as padding. */
export function* pngChunks({ length, peek }: ImageInput): Generator<PngChunk> {
  for (let at = 8; at + 12 <= length; ) {
    const head = peek(at, 8);
    if (head.length < 8) return;
    const size = head.readUInt32BE(0);
    const kind = head.toString("latin1", 4, 8);
    yield { kind, at, length: size };
    if (kind === "IEND") return;
    at += 12 + size;
  }
}
