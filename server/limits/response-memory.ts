/**
 * Response memory: bounds the memory of large embeddings responses and lists: each response reserves its expected size
 * before it is requested from an upstream, or read from the cache or a store, until its last byte is sent. A body that is not streamed (below
 * 64 KiB, or base64 of few vectors) holds its reservation until its ledger row is written. A request waits until there
 * is space. API keys share the memory (`KeyShares`), so that clients of one key that do not read their responses cannot
 * lock out the others. A key that holds none may take all that is free: a large response could otherwise never begin.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { KeyShares } from "../lib/key-shares.ts";
import { KeyTurns } from "../lib/key-turns.ts";
import { createSerialize, nextTurn } from "../lib/tasks.ts";
import { clientClosedError } from "../request/deadline.ts";

export interface MemoryRequest {
  readonly keyId: string;
  readonly bytes: number;
  /** Read only if the request has to wait. Aborted when the client disconnects. */
  readonly signal: () => AbortSignal;
  readonly timeoutMs: number;
}

interface Waiter {
  readonly keyId: string;
  readonly bytes: number;
  admit(): void;
}

/**
 * The same time as `slowReaderMs` in `http/server/socket-writer.ts`: while the unread responses of all clients are too
 * large, a client that has read nothing for about this time is reset, which releases the memory of its response.
 */
const retryAfterMs = 2000;

export class ResponseMemory {
  readonly #shares: KeyShares;
  /** Bounded by the limit of requests in flight. */
  readonly #waiting = new KeyTurns<Waiter>();
  readonly #beginInTurn = createSerialize();

  constructor(maxBytes: number) {
    this.#shares = new KeyShares(maxBytes);
  }

  /** Bytes that all requests hold. */
  get held(): number {
    return this.#shares.held;
  }

  /**
   * Resolves when the memory is reserved and the response may begin. Rejects with GatewayError at the timeout, and when
   * the client disconnects.
   */
  async reserve({ keyId, bytes, signal, timeoutMs }: MemoryRequest): Promise<void> {
    const isFree = !this.#waiting.has(keyId) && this.#fits({ keyId, bytes });
    if (isFree) this.#shares.take(keyId, bytes);
    else await this.#wait(keyId, bytes, signal(), timeoutMs);
    // Reading a large response from the cache takes milliseconds: other requests are served before each.
    await this.#beginInTurn(nextTurn);
  }

  release(keyId: string, bytes: number): void {
    this.#shares.release(keyId, bytes);
    this.#admitWaiting();
  }

  /** A response larger than the whole memory is admitted alone. */
  #fits({ keyId, bytes }: Pick<Waiter, "keyId" | "bytes">): boolean {
    const { held, free } = this.#shares;
    const isFirst = this.#shares.heldBy(keyId) === 0 && bytes <= free;
    return held === 0 || isFirst || this.#shares.mayTake(keyId, bytes);
  }

  #wait(keyId: string, bytes: number, signal: AbortSignal, timeoutMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (error: GatewayError): void => {
      this.#waiting.remove(keyId, waiter);
      reject(error);
      this.#admitWaiting();
    };
    const onAbort = (): void => leave(clientClosedError());
    const timer = setTimeout(() => leave(noMemory()), timeoutMs);
    const waiter: Waiter = { keyId, bytes, admit: resolve };
    this.#waiting.add(keyId, waiter);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    return promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    });
  }

  #admitWaiting(): void {
    if (this.#waiting.size === 0) return;
    // A small response does not overtake a large one of the same key, which would never begin otherwise.
    const blockedKeys = new Set<string>();
    const fits = (waiter: Waiter): boolean => {
      const isReady = !blockedKeys.has(waiter.keyId) && this.#fits(waiter);
      if (!isReady) blockedKeys.add(waiter.keyId);
      return isReady;
    };
    for (let waiter = this.#waiting.next(fits); waiter; waiter = this.#waiting.next(fits)) {
      this.#shares.take(waiter.keyId, waiter.bytes);
      waiter.admit();
    }
  }
}

const noMemory = (): GatewayError =>
  new GatewayError(
    "overloaded",
    "Timed out while queued: the memory for large responses is in use by other requests. No upstream request was sent. Send fewer large requests at once, read the responses, or ask the gateway's operator to raise VEXEL_RESPONSE_MEMORY_BYTES.",
    { retryAfterMs, notSent: true },
  );
