/**
 * Joins the small chunks of a body in chunked coding, so that a sender of 1-byte chunks costs no object for each of
 * them.
 */
import { cr, hexDigits, lf } from "./chunk-framing.ts";

/**
 * Chunks up to this size are joined in blocks of up to the second size; a longer chunk is handed over without a copy.
 */
const maxJoinedBytes = 512;
const blockBytes = 16 * 1024;

const noBytes = Buffer.alloc(0);

/**
 * Hands over chunks in order: small ones joined in blocks, others unchanged. Readers release a buffer when a chunk of
 * another buffer follows, so after a block was handed over, the chunks after it are copies too.
 */
export class ChunkJoiner {
  readonly #onChunk: (chunk: Buffer) => void;
  /** A small chunk that no other small chunk follows yet. If none does, it is handed over without a copy. */
  #firstSmallChunk: Buffer | undefined;
  #block: Buffer = noBytes;
  #filled = 0;
  #hasCopied = false;

  constructor(onChunk: (chunk: Buffer) => void) {
    this.#onChunk = onChunk;
  }

  add(all: Buffer, at: number, length: number): void {
    const chunk = all.subarray(at, at + length);
    if (length > maxJoinedBytes) {
      this.flush();
      this.#onChunk(this.#hasCopied ? Buffer.from(chunk) : chunk);
    } else if (this.#filled === 0 && !this.#firstSmallChunk) {
      this.#firstSmallChunk = chunk;
    } else {
      this.#makeRoom(length, all.length - at);
      this.#block.set(chunk, this.#filled);
      this.#filled += length;
    }
  }

  /**
   * Joins consecutive whole chunks of up to 15 bytes, each with its framing. Returns the offset after the last of them.
   */
  addTinyChunks(all: Buffer, from: number): number {
    this.#makeRoom(15, all.length - from);
    const block = this.#block;
    // From `safeEnd` on, a chunk might be incomplete, or might not fit into the block. Fewer bytes are copied than
    // read.
    const safeEnd = Math.min(all.length - 19, from + block.length - this.#filled - 14);
    let filled = this.#filled;
    let at = from;
    while (at < safeEnd) {
      const size = hexDigits[all[at]!]!;
      const after = at + 3 + size;
      if (size === 0 || size > 15 || all[at + 1] !== cr || all[at + 2] !== lf) break;
      if (all[after] !== cr || all[after + 1] !== lf) break;
      for (let copied = at + 3; copied < after; copied++) block[filled++] = all[copied]!;
      at = after + 2;
    }
    this.#filled = filled;
    return at;
  }

  flush(): void {
    if (this.#firstSmallChunk)
      this.#onChunk(this.#hasCopied ? Buffer.from(this.#firstSmallChunk) : this.#firstSmallChunk);
    this.#firstSmallChunk = undefined;
    if (this.#filled === 0) return;
    this.#hasCopied = true;
    this.#onChunk(this.#block.subarray(0, this.#filled));
    this.#block = noBytes;
    this.#filled = 0;
  }

  /** Ensures that the block has room for `length` bytes. `rest`: how many bytes may still follow in this turn. */
  #makeRoom(length: number, rest: number): void {
    const first = this.#firstSmallChunk;
    const needed = length + (first?.length ?? 0);
    if (this.#filled + needed <= this.#block.length && !first) return;
    this.#firstSmallChunk = undefined;
    this.flush();
    this.#block = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(needed + rest, blockBytes)));
    if (!first) return;
    this.#block.set(first);
    this.#filled = first.length;
  }
}
