/**
 * Finds the end of an image file while its bytes are read, chunk by chunk: bytes after the end do not matter. Each
 * search returns true at the end of the image, false where there is none, and undefined where it needs more bytes.
 */

export interface EndSearch {
  take(chunk: Uint8Array): boolean | undefined;
}

const iend = 0x49454e44;

/** Walks the chunks of a PNG file up to IEND. */
export class PngEnd implements EndSearch {
  /** Bytes to pass over: first the signature. */
  #skip = 8;
  readonly #head = Buffer.alloc(8);
  #headLength = 0;
  #isLast = false;

  take(chunk: Uint8Array): boolean | undefined {
    for (let at = 0; at < chunk.length; ) {
      const skipped = Math.min(this.#skip, chunk.length - at);
      this.#skip -= skipped;
      at += skipped;
      if (this.#skip > 0) return undefined;
      if (this.#isLast) return true;
      while (at < chunk.length && this.#headLength < this.#head.length) {
        this.#head[this.#headLength++] = chunk[at++] as number;
      }
      if (this.#headLength < this.#head.length) return undefined;
      this.#headLength = 0;
      this.#isLast = this.#head.readUInt32BE(4) === iend;
      // The data of the chunk, and its checksum.
      this.#skip = (this.#isLast ? 0 : this.#head.readUInt32BE(0)) + 4;
    }
    return undefined;
  }
}

const endMarker = Buffer.from([0xff, 0xd9]);

/**
 * Walks the segments of a JPEG file up to the start of scan. After it, the end marker is unambiguous: in entropy-coded
 * data, 0xff is followed by 0x00. Segments before it may contain a thumbnail with an end marker of its own.
 */
export class JpegEnd implements EndSearch {
  /** Bytes to pass over: first the start marker. */
  #skip = 2;
  /** A marker and its length. */
  #head: number[] = [];
  #isInScan = false;
  #last: number | undefined;

  take(chunk: Uint8Array): boolean | undefined {
    for (let at = 0; at < chunk.length; ) {
      if (this.#isInScan) return this.#search(chunk.subarray(at));
      const skipped = Math.min(this.#skip, chunk.length - at);
      this.#skip -= skipped;
      at += skipped;
      if (at < chunk.length) this.#head.push(chunk[at++] as number);
      while (this.#head.length === 4) if (!this.#readHead()) return false;
    }
    return undefined;
  }

  /** Returns whether the bytes are a marker. */
  #readHead(): boolean {
    const [first, marker = 0, high = 0, low = 0] = this.#head;
    if (first !== 0xff) return false;
    const isAlone = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);
    const length = marker === 0xff ? 1 : isAlone ? 2 : 2 + 256 * high + low;
    this.#isInScan = marker === 0xda;
    this.#last = low;
    this.#head = this.#isInScan ? [] : this.#head.slice(length);
    this.#skip = this.#isInScan ? 0 : Math.max(0, length - 4);
    return true;
  }

  #search(chunk: Uint8Array): true | undefined {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    const isSplit = this.#last === endMarker[0] && bytes[0] === endMarker[1];
    this.#last = bytes.at(-1);
    return isSplit || bytes.includes(endMarker) || undefined;
  }
}
