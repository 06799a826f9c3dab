/**
 * Finds ids that occur twice among millions, in two passes and little memory. The first pass asks a Bloom filter, which
 * never misses a repeated id, and takes a new one for repeated about once in 10,000. The second pass compares the few
 * ids that the first one found.
 */

/** With 6 bits set per id, about one new id in 10,000 is taken for a repeated one. */
const bitsPerId = 20;
const probes = 6;
const maxBits = 2 ** 30;
/** More ids than this are repeated for certain. */
const maxSuspects = 100_000;

export class RepeatedIds {
  readonly #filter: Uint32Array;
  readonly #bits: number;
  readonly #suspects = new Set<string>();

  /** `expected`: the most ids. */
  constructor(expected: number) {
    this.#bits = Math.min(Math.max(1024, expected * bitsPerId), maxBits);
    this.#filter = new Uint32Array(Math.ceil(this.#bits / 32));
  }

  /** First pass. */
  add(id: string): void {
    const first = Bun.hash.xxHash32(id);
    const step = Bun.hash.cityHash32(id) | 1;
    let isKnown = true;
    for (let probe = 0; probe < probes; probe++) {
      const bit = (first + probe * step) % this.#bits;
      const mask = 1 << (bit & 31);
      const word = bit >>> 5;
      if (((this.#filter[word] as number) & mask) !== 0) continue;
      isKnown = false;
      this.#filter[word] = (this.#filter[word] as number) | mask;
    }
    if (isKnown && this.#suspects.size < maxSuspects) this.#suspects.add(id);
  }

  /** Whether the second pass is needed. */
  get hasSuspects(): boolean {
    return this.#suspects.size > 0;
  }

  /** Second pass over all ids. Returns a function that is true for the second and later occurrence of an id. */
  secondPass(): (id: string) => boolean {
    const seen = new Set<string>();
    return (id) => {
      if (!this.#suspects.has(id)) return false;
      const isRepeated = seen.has(id);
      seen.add(id);
      return isRepeated;
    };
  }
}
