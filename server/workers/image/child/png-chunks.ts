/** The chunks of a PNG file, from their heads alone. */
import type { ImageInput } from "./image-input.ts";

export interface PngChunk {
  readonly kind: string;
  /** Where its head begins. */
  readonly at: number;
  /** Of its content, which begins eight bytes later. */
  readonly length: number;
}

/** Those that are all there, up to `IEND`: decoders do not read what follows it, such as padding. */
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
