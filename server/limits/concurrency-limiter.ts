/**
 * Places for calls, of which there are so many. As long as there are plenty, whoever comes gets one. When all are taken, a few more are
 * there for keys that have less than their share, so that one key with very many calls cannot keep the others out.
 */

/** Beyond the most, one in eight more are for keys that have less than their share. */
const reserveShare = 1 / 8;
/** With fewer places than this it always matters whose they are. */
const few = 64;

export class Places {
  readonly #most: number;
  readonly #withReserve: number;
  readonly #plenty: number;
  /** Of those that came when half of the places were taken: until then nobody has to know whose they are. */
  readonly #byKey = new Map<string, number>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
    this.#withReserve = most + Math.ceil(most * reserveShare);
    this.#plenty = most < few ? 0 : Math.floor(most / 2);
  }

  get taken(): number {
    return this.#taken;
  }

  take(): void {
    this.#taken++;
  }

  leave(): void {
    this.#taken--;
  }

  /** Whoever has taken one from here on is noted, or has to go. */
  get isFilling(): boolean {
    return this.#taken > this.#plenty;
  }

  note(key: string): void {
    this.#byKey.set(key, this.#heldBy(key) + 1);
  }

  forget(key: string): void {
    const held = this.#heldBy(key);
    if (held > 1) this.#byKey.set(key, held - 1);
    else this.#byKey.delete(key);
  }

  /** Whether one that has taken a place, and is not noted yet, can keep it. `besides`: those that do not count. */
  hasRoom(besides = 0): boolean {
    return this.#taken - besides <= this.#most;
  }

  /** The same, with those that are kept for keys which have less than their share. */
  hasReserveFor(key: string, besides = 0): boolean {
    return this.#taken - besides <= this.#withReserve && this.hasLessThanShare(key, key);
  }

  /** Whether another one would still be within what `key` would get if all keys got the same, `comer` among them. */
  hasLessThanShare(key: string, comer: string): boolean {
    const keys = this.#byKey.size + (this.#byKey.has(comer) ? 0 : 1);
    return this.#heldBy(key) < Math.max(1, Math.floor(this.#most / keys));
  }

  #heldBy(key: string): number {
    return this.#byKey.get(key) ?? 0;
  }
}
