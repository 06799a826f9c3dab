/**
 * A temporary file whose name is taken away as soon as it is open: it ends with the process, however that ends,
 * and no other process that uses the same folder can take it for a leftover.
 */

import { randomUUID } from "node:crypto";
import { unlinkSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../std/error-code.ts";

const pieceBytes = 64 * 1024;

export class NamelessFile {
  readonly #handle: FileHandle;
  #size = 0;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  static async create(folder: string): Promise<NamelessFile> {
    const path = join(folder, `upload-${randomUUID()}`);
    const handle = await open(path, "wx+", 0o600);
    try {
      unlinkSync(path);
    } catch (error) {
      // Another process that starts in this folder may have tidied it away first, which is as well.
      if (!isGone(error)) {
        await handle.close();
        throw error;
      }
    }
    return new NamelessFile(handle);
  }

  /**
   * At once, into the system's cache. If the reader of a body waited here, Bun would read the socket ahead
   * into pieces of megabytes that become garbage faster than it is collected: 8 x 50 MB took 150 MB that way.
   */
  append(bytes: Uint8Array): void {
    let done = 0;
    // A disk that is almost full takes a part and says so only on the next try.
    while (done < bytes.length) {
      const written = writeSync(this.#handle.fd, bytes, done, bytes.length - done, this.#size);
      done += written;
      this.#size += written;
    }
  }

  /** From the beginning, each time it is called. Each piece lives only until the next is asked for. */
  stream(): ReadableStream<Uint8Array> {
    let at = 0;
    let piece: Uint8Array<ArrayBuffer> | undefined;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          piece?.buffer.transfer(0);
          piece = await this.#read(at, Math.min(pieceBytes, this.#size - at));
          at += piece.length;
          if (piece.length > 0) controller.enqueue(piece);
          if (at >= this.#size) controller.close();
        },
      },
      { highWaterMark: 0 },
    );
  }

  bytes(): Promise<Uint8Array> {
    return this.#read(0, this.#size);
  }

  /** Waits for a read that is under way. */
  close(): Promise<void> {
    return this.#handle.close();
  }

  async #read(from: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(length);
    let done = 0;
    while (done < length) {
      const { bytesRead } = await this.#handle.read(bytes, done, length - done, from + done);
      if (bytesRead === 0) throw new Error("A spooled upload is shorter than what was written.");
      done += bytesRead;
    }
    return bytes;
  }
}

const isGone = (error: unknown): boolean => codeOf(error) === "ENOENT";
