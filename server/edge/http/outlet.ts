/** The way out of a connection. What the socket does not take at once leaves as the caller takes it. */
import type { OnDesk } from "./desk.ts";
import type { Wire } from "./leave.ts";

export class CallerLeft extends Error {
  override readonly name = "CallerLeft";
}

export class Outlet implements Wire {
  readonly #socket: Bun.Socket<unknown>;
  #unsent: Buffer | undefined;
  #sent: PromiseWithResolvers<void> | undefined;
  #gone = false;
  #whenGone: (() => void) | undefined;

  constructor(socket: Bun.Socket<unknown>) {
    this.#socket = socket;
  }

  /** Something waits for the caller to take it. */
  get isBlocked(): boolean {
    return this.#unsent !== undefined;
  }

  get unsentBytes(): number {
    return this.#unsent?.length ?? 0;
  }

  put(data: string | Uint8Array): Promise<void> | undefined {
    if (this.#gone) return Promise.reject(new CallerLeft());
    const written = this.#unsent ? 0 : Math.max(0, this.#socket.write(data));
    // Every character is at least one byte: only what is longer than was taken has to be measured.
    if (written >= data.length && written >= Buffer.byteLength(data)) return undefined;
    this.#keep(typeof data === "string" ? Buffer.from(data) : asBuffer(data), written);
    this.#sent ??= Promise.withResolvers();
    return this.#sent.promise;
  }

  putOff({ bytes, from, length }: OnDesk): Promise<void> | undefined {
    if (this.#gone) return Promise.reject(new CallerLeft());
    const written = this.#unsent ? 0 : Math.max(0, this.#socket.write(bytes, from, length));
    if (written >= length) return undefined;
    this.#keep(Buffer.from(bytes.subarray(from, from + length)), written);
    this.#sent ??= Promise.withResolvers();
    return this.#sent.promise;
  }

  whenGone(then: () => void): void {
    if (this.#gone) then();
    else this.#whenGone = then;
  }

  /** The socket takes more. */
  drained(): void {
    const unsent = this.#unsent;
    if (!unsent) return;
    const written = Math.max(0, this.#socket.write(unsent));
    this.#unsent = written < unsent.length ? unsent.subarray(written) : undefined;
    if (this.#unsent) return;
    const sent = this.#sent;
    this.#sent = undefined;
    sent?.resolve();
  }

  gone(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#unsent = undefined;
    this.#sent?.reject(new CallerLeft());
    this.#whenGone?.();
  }

  #keep(bytes: Buffer, written: number): void {
    const rest = bytes.subarray(written);
    this.#unsent = this.#unsent ? Buffer.concat([this.#unsent, rest]) : rest;
  }
}

const asBuffer = ({ buffer, byteOffset, length }: Uint8Array): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, length);
