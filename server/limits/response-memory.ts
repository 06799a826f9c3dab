/**
 * Response memory: bounds the memory of large embeddings responses: each response reserves its expected size before it
 * is requested from an upstream or read from the cache, until its last byte is sent. A body that is not streamed (below
 * 64 KiB, or base64 of few vectors) holds its reservation until its ledger row is written. A request waits until there
 * is space. API keys share the memory by the dynamic threshold of `temp-storage/temp-storage.ts`: a key that holds
 * memory may hold at most as much as then stays free, and a key that holds none may take all that is free. So clients
 * of one key that do not read their responses cannot lock out the others.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { clientClosedError } from "../request/deadline.ts";

export interface MemoryRequest {
  readonly keyId: string;
  readonly bytes: number;
  /** Read only if the request has to wait. Aborted when the client disconnects. */
  readonly signal: () => AbortSignal;
  readonly timeoutMs: number;
}

interface Waiter {
  readonly bytes: number;
  admit(): void;
}

/**
 * The same time as `slowReaderMs` in `http/server/socket-writer.ts`: while the unread responses of all clients are too
 * large, a client that has read nothing for about this time is reset, which frees the memory of its response.
 */
const retryAfterMs = 2000;

/**
 * The bytes of responses that may begin in one turn of the event loop: reading them from the cache takes about 10 ms.
 */
const maxBytesPerTurn = 8 * 1024 * 1024;

export class ResponseMemory {
  readonly #maxBytes: number;
  readonly #byKey = new Map<string, number>();
  /** By API key, in the order of their next turn. Bounded by the limit of requests in flight. */
  readonly #waiting = new Map<string, Waiter[]>();
  #held = 0;
  #begunInTurn = 0;
  #isScheduled = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes that all requests hold. */
  get held(): number {
    return this.#held;
  }

  /** Undefined: reserved at once. Rejects with GatewayError at the timeout, and when the client disconnects. */
  reserve({ keyId, bytes, signal, timeoutMs }: MemoryRequest): Promise<void> | undefined {
    if (
      !this.#waiting.has(keyId) &&
      this.#begunInTurn < maxBytesPerTurn &&
      this.#fits(keyId, bytes)
    ) {
      this.#take(keyId, bytes);
      this.#schedule();
      return undefined;
    }
    return this.#wait(keyId, bytes, signal(), timeoutMs);
  }

  release(keyId: string, bytes: number): void {
    this.#held -= bytes;
    const left = (this.#byKey.get(keyId) ?? 0) - bytes;
    if (left > 0) this.#byKey.set(keyId, left);
    else this.#byKey.delete(keyId);
    if (this.#waiting.size > 0) this.#schedule();
  }

  /** A response larger than the whole memory is admitted alone. */
  #fits(keyId: string, bytes: number): boolean {
    if (this.#held === 0) return true;
    const free = this.#maxBytes - this.#held - bytes;
    const held = this.#byKey.get(keyId);
    return held === undefined ? free >= 0 : held + bytes <= free;
  }

  #take(keyId: string, bytes: number): void {
    this.#begunInTurn += bytes;
    this.#held += bytes;
    this.#byKey.set(keyId, (this.#byKey.get(keyId) ?? 0) + bytes);
  }

  #wait(keyId: string, bytes: number, signal: AbortSignal, timeoutMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (error: GatewayError): void => {
      this.#remove(keyId, waiter);
      reject(error);
    };
    const onAbort = (): void => leave(clientClosedError());
    const timer = setTimeout(() => leave(noMemory()), timeoutMs);
    const waiter: Waiter = { bytes, admit: resolve };
    const waiters = this.#waiting.get(keyId);
    if (waiters) waiters.push(waiter);
    else this.#waiting.set(keyId, [waiter]);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    this.#schedule();
    return promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    });
  }

  #remove(keyId: string, waiter: Waiter): void {
    const waiters = this.#waiting.get(keyId);
    const at = waiters?.indexOf(waiter) ?? -1;
    if (!waiters || at < 0) return;
    waiters.splice(at, 1);
    if (waiters.length === 0) this.#waiting.delete(keyId);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#beginTurn);
  }

  /** Admits one request of each key in turn, as many as one turn of the event loop allows. */
  readonly #beginTurn = (): void => {
    this.#isScheduled = false;
    this.#begunInTurn = 0;
    for (const [keyId, waiters] of [...this.#waiting]) {
      if (this.#begunInTurn >= maxBytesPerTurn) break;
      const [waiter] = waiters;
      if (!waiter || !this.#fits(keyId, waiter.bytes)) continue;
      this.#take(keyId, waiter.bytes);
      this.#waiting.delete(keyId);
      waiters.shift();
      if (waiters.length > 0) this.#waiting.set(keyId, waiters);
      waiter.admit();
    }
    if (this.#begunInTurn > 0) this.#schedule();
  };
}

const noMemory = (): GatewayError =>
  new GatewayError(
    "overloaded",
    "Timed out while queued: the memory for large embeddings responses is in use by other requests. No upstream request was sent. Send fewer large requests at once, read the responses, or ask the gateway's operator to raise VEXEL_RESPONSE_MEMORY_BYTES.",
    { retryAfterMs, notSent: true },
  );
