/**
 * Unlinked temp file: its name is removed as soon as it is open. The operating system deletes it when the process ends,
 * however it ends, and no other process that uses the same folder can mistake it for a leftover file.
 */

import { randomUUID } from "node:crypto";
import { mkdirSync, readSync, unlinkSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { type BorrowedBytes, viewOf } from "../lib/borrowed-bytes.ts";
import { errorCode } from "../lib/error-code.ts";
import type { TempAccount } from "./temp-storage.ts";

const chunkBytes = 64 * 1024;

export class UnlinkedTempFile {
  readonly #handle: FileHandle;
  readonly #keptOpen = new Set<Promise<void>>();
  readonly #account: TempAccount | undefined;
  #size = 0;
  #isReleased = false;
  #isClosing = false;

  private constructor(handle: FileHandle, account: TempAccount | undefined) {
    this.#handle = handle;
    this.#account = account;
  }

  /** `account`: charged for the bytes until the file is closed. If absent, they are not counted. */
  static async create(folder: string, account?: TempAccount): Promise<UnlinkedTempFile> {
    const path = join(folder, `temp-${randomUUID()}`);
    const handle = await open(path, "wx+", 0o600).catch((error) => {
      if (!isGone(error)) throw error;
      // Only the folder was removed. If its parent folder is gone too, this throws.
      mkdirSync(folder, { mode: 0o700 });
      return open(path, "wx+", 0o600);
    });
    try {
      unlinkSync(path);
    } catch (error) {
      // Another process that starts in this folder may have deleted the file already.
      if (!isGone(error)) {
        await handle.close();
        throw error;
      }
    }
    return new UnlinkedTempFile(handle, account);
  }

  /**
   * Synchronous, into the page cache. If the reader of a body waited here, Bun would read ahead from the socket into
   * chunks of megabytes that become garbage faster than it is collected: 8 x 50 MB took 150 MB that way.
   */
  append(borrowed: BorrowedBytes): void {
    const bytes = viewOf(borrowed);
    this.#account?.take(bytes.length);
    let done = 0;
    try {
      // A disk that is almost full accepts a part of the bytes, and fails only on the next write.
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

  /**
   * A path under which another process on this machine can read and write the open file. Undefined without /proc.
   */
  get path(): string | undefined {
    return process.platform === "linux" ? `/proc/${process.pid}/fd/${this.#handle.fd}` : undefined;
  }

  /** A new stream from `from` on each call. */
  async *stream(from = 0, to = this.#size): AsyncGenerator<BorrowedBytes> {
    // One buffer for all chunks, read synchronously from the page cache: waiting for a chunk costs more than the chunk.
    const buffer = Buffer.allocUnsafeSlow(Math.min(chunkBytes, to - from));
    for (let at = from; at < to; ) {
      const length = Math.min(buffer.length, to - at);
      const bytesRead = readSync(this.#handle.fd, buffer, 0, length, at);
      if (bytesRead === 0) throw fileTooShort();
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  bytes(): Promise<Uint8Array> {
    return this.read(0, this.#size);
  }

  /**
   * The file stays open, also after `close`, until the returned function is called. Needed for as long as another
   * process uses the path: once the file is closed, the same path may lead to the file of another request. Throws if
   * the file is closed already.
   */
  keepOpen(): () => void {
    if (this.#isClosing) throw new Error("A closed temp file cannot be kept open.");
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#keptOpen.add(promise);
    return () => {
      this.#keptOpen.delete(promise);
      resolve();
    };
  }

  /** Reads the file's size, after another process has written to it. */
  async refreshSize(): Promise<void> {
    const { size } = await this.#handle.stat();
    if (size > this.#size) this.#account?.charge(size - this.#size);
    else this.#account?.release(this.#size - size);
    this.#size = size;
  }

  /** Waits for reads in progress, and for every `keepOpen` to end. */
  close(): Promise<void> {
    this.#isClosing = true;
    if (this.#keptOpen.size === 0) return this.#close();
    return Promise.all(this.#keptOpen).then(() => this.#close());
  }

  /** The disk space is free once the system has closed the file, even if closing reports an error. */
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
      if (bytesRead === 0) throw fileTooShort();
      done += bytesRead;
    }
    return bytes;
  }
}

const fileTooShort = (): Error => new Error("A temp file is shorter than the bytes written to it.");

const isGone = (error: unknown): boolean => errorCode(error) === "ENOENT";
