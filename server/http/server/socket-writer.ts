/**
 * Writes to the socket of a connection, with backpressure: bytes that the socket does not accept are queued until it
 * drains.
 */

import type { ResponseWriter } from "./response-writer.ts";
import type { BufferedResponse } from "./write-buffer.ts";

export class ClientDisconnected extends Error {
  override readonly name = "ClientDisconnected";
}

export class SocketWriter implements ResponseWriter {
  /** Bytes that the socket has accepted, of all responses. */
  sentBytes = 0;
  heldBytes = 0;
  readonly #socket: Pick<Bun.Socket<unknown>, "write">;
  #unsent: Buffer | undefined;
  #sent: PromiseWithResolvers<void> | undefined;
  #isClosed = false;
  #onDisconnect: (() => void) | undefined;

  constructor(socket: Pick<Bun.Socket<unknown>, "write">) {
    this.#socket = socket;
  }

  /** Bytes are queued until the client reads. */
  get isBlocked(): boolean {
    return this.#unsent !== undefined;
  }

  get unsentBytes(): number {
    return this.#unsent?.length ?? 0;
  }

  write(data: string | Uint8Array): Promise<void> | undefined {
    if (this.#isClosed) return Promise.reject(new ClientDisconnected());
    const written = this.#unsent ? 0 : Math.max(0, this.#socket.write(data));
    this.sentBytes += written;
    // Every character is at least one byte, so the length in bytes is needed only where all characters were accepted.
    if (written >= data.length && written >= Buffer.byteLength(data)) return undefined;
    return this.#queue(typeof data === "string" ? Buffer.from(data) : asBuffer(data), written);
  }

  writeBuffered({ bytes, from, length }: BufferedResponse): Promise<void> | undefined {
    if (this.#isClosed) return Promise.reject(new ClientDisconnected());
    const written = this.#unsent ? 0 : Math.max(0, this.#socket.write(bytes, from, length));
    this.sentBytes += written;
    if (written >= length) return undefined;
    return this.#queue(Buffer.from(bytes.subarray(from, from + length)), written);
  }

  onDisconnect(callback: () => void): void {
    if (this.#isClosed) callback();
    else this.#onDisconnect = callback;
  }

  /** The socket accepts more bytes. */
  onDrain(): void {
    const unsent = this.#unsent;
    if (!unsent) return;
    const written = Math.max(0, this.#socket.write(unsent));
    this.sentBytes += written;
    // A buffer that was released meanwhile is empty: `sentBytes` then shows that bytes are missing.
    this.#unsent = written < unsent.length ? unsent.subarray(written) : undefined;
    if (this.#unsent) return;
    const sent = this.#sent;
    this.#sent = undefined;
    sent?.resolve();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#unsent = undefined;
    this.#sent?.reject(new ClientDisconnected());
    this.#onDisconnect?.();
  }

  #queue(bytes: Buffer, written: number): Promise<void> {
    const rest = bytes.subarray(written);
    this.#unsent = this.#unsent ? Buffer.concat([this.#unsent, rest]) : rest;
    this.#sent ??= Promise.withResolvers();
    return this.#sent.promise;
  }
}

const asBuffer = ({ buffer, byteOffset, length }: Uint8Array): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, length);
