/**
 * Places for calls, of which there are so many. As long as there are plenty, whoever comes gets one. When all are taken, a few more are
 * there for keys that have less than their share, so that one key with very many calls cannot keep the others out.
 */

/** Beyond the most, one in eight more are for keys that have less than their share. */
const reserveShare = 1 / 8;
/** With fewer places than this it always matters whose they are. */
const few = 64;

export class ConcurrencyLimiter {
  readonly #most: number;
  readonly #withReserve: number;
  readonly #contendedAbove: number;
  /** Of those that came when half of the places were taken: until then nobody has to know whose they are. */
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

  /** Whoever has taken one from here on is noted, or has to go. */
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

  /** Whether one that has taken a place, and is not noted yet, can keep it. `besides`: those that do not count. */
  hasRoom(besides = 0): boolean {
    return this.#inUse - besides <= this.#most;
  }

  /** The same, with those that are kept for keys which have less than their share. */
  hasReserveFor(key: string, besides = 0): boolean {
    return this.#inUse - besides <= this.#withReserve && this.isBelowFairShare(key, key);
  }

  /** Whether another one would still be within what `key` would get if all keys got the same, `comer` among them. */
  isBelowFairShare(key: string, comer: string): boolean {
    const keys = this.#byKey.size + (this.#byKey.has(comer) ? 0 : 1);
    return this.#inUseBy(key) < Math.max(1, Math.floor(this.#most / keys));
  }

  #inUseBy(key: string): number {
    return this.#byKey.get(key) ?? 0;
  }
}
