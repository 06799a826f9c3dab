/** Bloom filter of the texts in a segment of ledger rows: it may have a text too many, and never one too few. */

/** The columns whose texts are in the filter. */
export type Term = "keyId" | "project" | "model" | "upstream" | "targetModel" | "error";

/** With 8 bits for each of 2,048 keys, one of seven segments is read in vain; with 500, fewer than one of a thousand. */
export const termBytes = 2048;
const bits = termBytes * 8;

/** Hashes of texts that occur again and again, such as model ids. */
const hashes: Record<Term, Map<string | null, number>> = {
  keyId: new Map(),
  project: new Map(),
  model: new Map(),
  upstream: new Map(),
  targetModel: new Map(),
  error: new Map(),
};
const maxHashes = 4096;

export function addTerm(filter: Uint8Array, term: Term, value: string | null): void {
  const hash = hashOf(term, value);
  setBit(filter, hash % bits);
  setBit(filter, (hash >>> 11) % bits);
  setBit(filter, Math.imul(hash, 0x9e3779b1) >>> 18);
}

export function mayHaveTerm(filter: Uint8Array, term: Term, value: string | null): boolean {
  const hash = hashOf(term, value);
  return (
    hasBit(filter, hash % bits) &&
    hasBit(filter, (hash >>> 11) % bits) &&
    hasBit(filter, Math.imul(hash, 0x9e3779b1) >>> 18)
  );
}

function setBit(filter: Uint8Array, at: number): void {
  filter[at >>> 3] = (filter[at >>> 3] ?? 0) | (1 << (at & 7));
}

const hasBit = (filter: Uint8Array, at: number): boolean =>
  ((filter[at >>> 3] ?? 0) & (1 << (at & 7))) !== 0;

function hashOf(term: Term, value: string | null): number {
  const known = hashes[term];
  let hash = known.get(value);
  if (hash === undefined) {
    // The filter is stored, so the hash must never change: 32 bits of a CRC, which every version of Bun computes alike.
    hash = Bun.hash.crc32(value === null ? term : `${term}:${value}`);
    if (known.size >= maxHashes) known.clear();
    known.set(value, hash);
  }
  return hash;
}
