/**
 * Hit rates of cache policies with a scan between other requests, and the CPU of the embedding cache for one get and
 * one set: `npm run bench -- cache-policy`.
 */
import { EmbeddingCache } from "../server/embeddings/cache/embedding-cache.ts";
import { S3Fifo } from "../server/embeddings/cache/s3-fifo.ts";

const capacity = 1000;

/** Returns whether the key was cached, and caches it. */
type Access = (key: string) => boolean;

const s3Fifo = (): Access => {
  const cache = new S3Fifo<true>(capacity);
  return (key) => {
    const isHit = cache.get(key) === true;
    if (!isHit) cache.set(key, true, 1);
    return isHit;
  };
};

/** With `chances`, a used entry that reaches the front moves to the end; without, each use moves it there. */
const queue = (chances: boolean) => (): Access => {
  const used = new Map<string, boolean>();
  return (key) => {
    if (used.has(key)) {
      if (!chances) used.delete(key);
      used.set(key, chances);
      return true;
    }
    while (used.size >= capacity) {
      const [oldest, wasUsed] = used.entries().next().value as [string, boolean];
      used.delete(oldest);
      if (wasUsed) used.set(oldest, false);
    }
    used.set(key, false);
    return false;
  };
};

/** Four fifths for keys with a hit. */
const segmentedLru = (): Access => {
  const [probation, main] = [new Set<string>(), new Set<string>()];
  const shift = (from: Set<string>): string => {
    const oldest = from.values().next().value as string;
    from.delete(oldest);
    return oldest;
  };
  return (key) => {
    if (main.delete(key) || probation.delete(key)) {
      main.add(key);
      if (main.size > capacity * 0.8) probation.add(shift(main));
      return true;
    }
    if (probation.size + main.size >= capacity) shift(probation.size > 0 ? probation : main);
    probation.add(key);
    return false;
  };
};

/** The hand moves from old to new keys, and evicts the first that was not used since it passed. */
const sieve = (): Access => {
  let keys: string[] = [];
  const used = new Map<string, boolean>();
  let hand = 0;
  return (key) => {
    if (used.has(key)) {
      used.set(key, true);
      return true;
    }
    if (used.size >= capacity) {
      while (used.get(keys[hand] as string)) {
        used.set(keys[hand] as string, false);
        hand = (hand + 1) % keys.length;
      }
      used.delete(keys[hand] as string);
      keys = keys.toSpliced(hand, 1);
      hand %= keys.length;
    }
    keys.push(key);
    used.set(key, false);
    return false;
  };
};

/** Park and Miller's generator: the same requests in each run. */
let seed = 1;
const random = (): number => {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed / 2_147_483_647;
};

function zipf(texts: number, count: number): string[] {
  const sums: number[] = [];
  for (let rank = 1; rank <= texts; rank++) sums.push((sums.at(-1) ?? 0) + rank ** -0.9);
  const pick = (): number => {
    const at = random() * (sums.at(-1) as number);
    let [low, high] = [0, texts - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] as number) < at) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return Array.from({ length: count }, () => `zipf ${pick()}`);
}

const inOrder = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${name} ${at}`);

const workloads: Record<string, readonly (readonly string[])[]> = {
  "Zipf, a scan of ten times the capacity, Zipf": [
    zipf(5000, 50_000),
    inOrder("scan", 10 * capacity),
    zipf(5000, 3000),
  ],
  "700 texts in order, three times, then a scan, then 700 other texts, six times": [
    ...Array(3).fill(inOrder("used", 700)),
    inOrder("scan", 10 * capacity),
    ...Array(6).fill(inOrder("other", 700)),
  ],
};
const policies = {
  LRU: queue(false),
  "second chance": queue(true),
  SIEVE: sieve,
  "segmented LRU": segmentedLru,
  "S3-FIFO": s3Fifo,
};

for (const [name, phases] of Object.entries(workloads)) {
  console.log(`${name}: percent of hits in each phase`);
  for (const [policy, create] of Object.entries(policies)) {
    const access = create();
    const rates = phases.map((keys) => (100 * keys.filter(access).length) / keys.length);
    console.log(`  ${policy.padEnd(14)} ${rates.map((rate) => rate.toFixed(0)).join(" ")}`);
  }
}

/** Microseconds of CPU for one operation. */
function cpuOf(count: number, operation: (at: number) => void): string {
  for (let at = 0; at < count; at++) operation(at);
  const before = process.cpuUsage();
  for (let at = 0; at < count; at++) operation(count + at);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) / count).toFixed(2);
}

for (const dimensions of [64, 1536]) {
  const cache = new EmbeddingCache({ maxBytes: 8 * 2 ** 20 });
  const vector = Buffer.from(new Float32Array(dimensions).fill(0.5).buffer).toString("base64");
  const set = (at: number) => cache.set(`key ${at}`, { vector, tokens: 1 });
  const sets = cpuOf(50_000, set);
  const last = (at: number) => `key ${99_999 - (at % 50)}`;
  const floats = cpuOf(50_000, (at) => cache.get(last(at), "float"));
  const texts = cpuOf(50_000, (at) => cache.get(last(at), "base64"));
  const misses = cpuOf(50_000, (at) => cache.get(`missing ${at}`, "base64"));
  console.log(
    `${dimensions} numbers: set with an eviction ${sets} us, get as numbers ${floats} us, get as base64 ${texts} us, miss ${misses} us`,
  );
}
