/**
 * Concurrency limiter with fair shares per API key. While slots are plentiful every request gets one. At the limit a small
 * reserve is left for keys below their fair share, so that one key with many requests cannot lock out the others.
 */

/** The reserve above the limit, for keys below their fair share. */
const reserveShare = 1 / 8;
/** With fewer slots than this they are always counted per key. */
const few = 64;

export class ConcurrencyLimiter {
  readonly #most: number;
  readonly #withReserve: number;
  readonly #contendedAbove: number;
  /** Slots per key, counted only for requests that arrive while at least half of the slots are in use. */
  readonly #byKey = new Map<string, number>();
  #inUse = 0;

  constructor(most: number) {
    this.#most = most;
    this.#withReserve = most + Math.ceil(most * reserveShare);
    this.#contendedAbove = most < few ? 0 : Math.floor(most / 2);
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

  /** From here on a request is counted for its key, or shed. */
  get isContended(): boolean {
    return this.#inUse > this.#contendedAbove;
  }

  countFor(key: string): void {
    this.#byKey.set(key, this.#inUseBy(key) + 1);
  }

  releaseFor(key: string): void {
    const held = this.#inUseBy(key);
    if (held > 1) this.#byKey.set(key, held - 1);
    else this.#byKey.delete(key);
  }

  /** Whether a request that holds a slot, and is not yet counted for its key, can keep it. `besides`: slots to leave out of the count. */
  hasRoom(besides = 0): boolean {
    return this.#inUse - besides <= this.#most;
  }

  /** The same, including the reserve for keys below their fair share. */
  hasReserveFor(key: string, besides = 0): boolean {
    return this.#inUse - besides <= this.#withReserve && this.isBelowFairShare(key, key);
  }

  /** Whether one more slot keeps `key` within an equal share among all active keys, including `comer`. */
  isBelowFairShare(key: string, comer: string): boolean {
    const keys = this.#byKey.size + (this.#byKey.has(comer) ? 0 : 1);
    return this.#inUseBy(key) < Math.max(1, Math.floor(this.#most / keys));
  }

  #inUseBy(key: string): number {
    return this.#byKey.get(key) ?? 0;
  }
}
