/**
 * A temporary file whose name is taken away as soon as it is open: it ends with the process, however that ends,
 * and no other process that uses the same folder can take it for a leftover.
 */

import { randomUUID } from "node:crypto";
import { mkdirSync, readSync, unlinkSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "./error-code.ts";
import type { TempAccount } from "./temp-storage.ts";

const pieceBytes = 64 * 1024;

export class UnlinkedTempFile {
  readonly #handle: FileHandle;
  readonly #lent = new Set<Promise<void>>();
  readonly #account: TempAccount | undefined;
  #size = 0;
  #isReleased = false;
  #isClosing = false;

  private constructor(handle: FileHandle, account: TempAccount | undefined) {
    this.#handle = handle;
    this.#account = account;
  }

  /** `account`: what its bytes are charged to until it is closed. Absent: they are not counted. */
  static async create(folder: string, account?: TempAccount): Promise<UnlinkedTempFile> {
    const path = join(folder, `spool-${randomUUID()}`);
    const handle = await open(path, "wx+", 0o600).catch((error) => {
      if (!isGone(error)) throw error;
      // The folder alone was removed. Where the folder above it is gone too, this throws.
      mkdirSync(folder, { mode: 0o700 });
      return open(path, "wx+", 0o600);
    });
    try {
      unlinkSync(path);
    } catch (error) {
      // Another process that starts in this folder may have tidied it away first, which is as well.
      if (!isGone(error)) {
        await handle.close();
        throw error;
      }
    }
    return new UnlinkedTempFile(handle, account);
  }

  /**
   * At once, into the system's cache. If the reader of a body waited here, Bun would read the socket ahead
   * into pieces of megabytes that become garbage faster than it is collected: 8 x 50 MB took 150 MB that way.
   */
  append(bytes: Uint8Array): void {
    this.#account?.take(bytes.length);
    let done = 0;
    try {
      // A disk that is almost full takes a part and says so only on the next try.
      while (done < bytes.length) {
        const written = writeSync(this.#handle.fd, bytes, done, bytes.length - done, this.#size);
        done += written;
        this.#size += written;
      }
    } catch (error) {
      this.#account?.release(bytes.length - done);
      throw error;
    }
  }

  get size(): number {
    return this.#size;
  }

  /** Where another process of this machine can read and write it while it is open. Absent where the system has no such place. */
  get path(): string | undefined {
    return process.platform === "linux" ? `/proc/${process.pid}/fd/${this.#handle.fd}` : undefined;
  }

  /** From the beginning, each time it is called. Each piece lives only until the next is asked for. */
  stream(from = 0, to = this.#size): ReadableStream<Uint8Array> {
    let at = from;
    // Used again and again, and read at once out of the system's cache: a wait for each piece costs more than the piece.
    const room = new Uint8Array(Math.min(pieceBytes, to - from));
    return new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          const length = Math.min(room.length, to - at);
          const got = length === 0 ? 0 : readSync(this.#handle.fd, room, 0, length, at);
          if (got === 0 && length > 0) throw shorter();
          at += got;
          if (got > 0) controller.enqueue(room.subarray(0, got));
          if (at >= to) controller.close();
        },
      },
      { highWaterMark: 0 },
    );
  }

  bytes(): Promise<Uint8Array> {
    return this.read(0, this.#size);
  }

  /**
   * The file stays open, also after `close`, until the returned function is called. Needed for as long as another process
   * uses the path: once the file is closed, the same path may lead to the file of another request. Throws when it is closed
   * already.
   */
  keepOpen(): () => void {
    if (this.#isClosing) throw new Error("A temp file that is closed cannot be lent.");
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#lent.add(promise);
    return () => {
      this.#lent.delete(promise);
      resolve();
    };
  }

  /** Its size is what another process has written. */
  async refreshSize(): Promise<void> {
    const { size } = await this.#handle.stat();
    if (size > this.#size) this.#account?.charge(size - this.#size);
    else this.#account?.release(this.#size - size);
    this.#size = size;
  }

  /** Waits for a read that is under way, and for whoever it is lent to. */
  close(): Promise<void> {
    this.#isClosing = true;
    if (this.#lent.size === 0) return this.#close();
    return Promise.all(this.#lent).then(() => this.#close());
  }

  /** The room on disk is free once the system has closed the file, whatever it says of that. */
  async #close(): Promise<void> {
    try {
      await this.#handle.close();
    } finally {
      if (!this.#isReleased) this.#account?.release(this.#size);
      this.#isReleased = true;
    }
  }

  async read(from: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(length);
    let done = 0;
    while (done < length) {
      const { bytesRead } = await this.#handle.read(bytes, done, length - done, from + done);
      if (bytesRead === 0) throw shorter();
      done += bytesRead;
    }
    return bytes;
  }
}

const shorter = (): Error => new Error("A spooled file is shorter than what was written.");

const isGone = (error: unknown): boolean => errorCode(error) === "ENOENT";
