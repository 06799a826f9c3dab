/**
 * Concurrency limiter with fair shares per API key. While slots are plentiful every request gets one. At the limit a
 * small reserve is left for keys below their fair share, so that one key with many requests cannot lock out the others.
 */

/** The reserve above the limit, for keys below their fair share. */
const reserveShare = 1 / 8;
/** The share of the limit that batch requests leave to interactive requests. */
const interactiveShare = 1 / 8;
/** Below this limit, slots are always counted per key. */
const alwaysCountedBelow = 64;

export class ConcurrencyLimiter {
  readonly #limit: number;
  readonly #withReserve: number;
  readonly #batchLimit: number;
  readonly #contendedAbove: number;
  /** Slots per key, counted only for requests that arrive while at least half of the slots are in use. */
  readonly #byKey = new Map<string, number>();
  #inUse = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#withReserve = limit + Math.ceil(limit * reserveShare);
    this.#batchLimit = limit - Math.floor(limit * interactiveShare);
    this.#contendedAbove = limit < alwaysCountedBelow ? 0 : Math.floor(limit / 2);
  }

  get inUse(): number {
    return this.#inUse;
  }

  acquire(): void {
    this.#inUse++;
  }

  release(): void {
    this.#inUse--;
  }

  /** While true, each new request is counted for its key, or shed. */
  get isContended(): boolean {
    return this.#inUse > this.#contendedAbove;
  }

  countFor(key: string): void {
    this.#byKey.set(key, this.#inUseBy(key) + 1);
  }

  releaseFor(key: string): void {
    const inUse = this.#inUseBy(key);
    if (inUse > 1) this.#byKey.set(key, inUse - 1);
    else this.#byKey.delete(key);
  }

  /**
   * Whether a request that holds a slot, and is not yet counted for its key, can keep the slot. `excluded`: the number
   * of slots that are not counted.
   */
  hasRoom(excluded = 0): boolean {
    return this.#inUse - excluded <= this.#limit;
  }

  /** Like `hasRoom`, without the share that is left to interactive requests. */
  hasRoomForBatch(excluded = 0): boolean {
    return this.#inUse - excluded <= this.#batchLimit;
  }

  /** Like `hasRoom`, with the reserve for keys below their fair share. */
  hasReserveFor(key: string, excluded = 0): boolean {
    return this.#inUse - excluded <= this.#withReserve && this.isBelowFairShare(key, key);
  }

  /** Whether one more slot keeps `key` within an equal share among all active keys, including `newKey`. */
  isBelowFairShare(key: string, newKey: string): boolean {
    const keys = this.#byKey.size + (this.#byKey.has(newKey) ? 0 : 1);
    return this.#inUseBy(key) < Math.max(1, Math.floor(this.#limit / keys));
  }

  #inUseBy(key: string): number {
    return this.#byKey.get(key) ?? 0;
  }
}
