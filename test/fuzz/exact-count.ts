/** The sums of the gateway's token buckets in exact arithmetic, without rounding. */
export class ExactCount {
  readonly #limit: bigint;
  #parts: bigint;
  #at: bigint;

  constructor(limit: number, now: number) {
    this.#limit = BigInt(limit);
    this.#parts = this.#limit * 60_000n;
    this.#at = BigInt(Math.floor(now));
  }

  check(now: number): void {
    const at = BigInt(Math.floor(now));
    if (at > this.#at) this.add((at - this.#at) * this.#limit);
    this.#at = at;
  }

  take(count: number): void {
    this.add(BigInt(count) * -60_000n);
  }

  has(count: number): boolean {
    return this.#parts >= BigInt(count) * 60_000n;
  }

  get whole(): number {
    return this.#parts < 0n ? 0 : Number(this.#parts / 60_000n);
  }

  add(parts: bigint): void {
    const most = this.#limit * 60_000n;
    this.#parts += parts;
    if (this.#parts > most) this.#parts = most;
  }
}
