/**
 * Memory for JSON bodies: a limit for the bodies of all requests together, which is shared out among API keys by the
 * dynamic threshold of `temp-storage/temp-storage.ts`: a key may hold at most as much as is still free.
 */
import { GatewayError } from "../lib/gateway-error.ts";

/** About the time that most requests with a large body take. */
const retryAfterMs = 2000;

export class MemoryShares {
  readonly #maxBytes: number;
  readonly #byKey = new Map<string, number>();
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes that all requests hold. */
  get held(): number {
    return this.#held;
  }

  /** Throws GatewayError if the key has used up its share, or if no memory is left. */
  take(keyId: string, bytes: number): void {
    const held = this.#byKey.get(keyId) ?? 0;
    const free = this.#maxBytes - this.#held - bytes;
    if (held + bytes > free) throw held > 0 ? shareUsedUp(held) : noMemory();
    this.#held += bytes;
    this.#byKey.set(keyId, held + bytes);
  }

  release(keyId: string, bytes: number): void {
    this.#held -= bytes;
    const left = (this.#byKey.get(keyId) ?? 0) - bytes;
    if (left > 0) this.#byKey.set(keyId, left);
    else this.#byKey.delete(keyId);
  }
}

const shareUsedUp = (held: number): GatewayError =>
  new GatewayError(
    "upload_limit_reached",
    `Other requests of this API key hold ${held} bytes of JSON bodies in memory, which is its share. Send fewer large bodies at once, or ask the gateway's operator to raise VEXEL_JSON_MEMORY_BYTES.`,
    { retryAfterMs },
  );

const noMemory = (): GatewayError =>
  new GatewayError(
    "overloaded",
    "The JSON bodies of other requests use all the memory that is reserved for JSON bodies. Please retry your request after a brief delay; the gateway's operator can raise VEXEL_JSON_MEMORY_BYTES.",
    { retryAfterMs },
  );
