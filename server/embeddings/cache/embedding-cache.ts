/**
 * Embedding cache in memory, bounded by bytes, with an optional time to live (TTL). `s3-fifo.ts` decides which entry is
 * evicted. No view of a cached vector leaves the cache: its memory is released as soon as it is evicted.
 */
import { decodeText, EncodedVector } from "../../lib/vector-codec/index.ts";
import type { SharedEmbedding } from "../../storage/redis/sealed-embedding.ts";
import type { EmbeddingCacheFile } from "../../storage/sqlite/embedding-cache-file.ts";
import type { QuantizedType, QuantizedVector, Vector } from "../../upstream/contract.ts";
import { dimensionsOf, isQuantized } from "../vector-formats.ts";
import { S3Fifo } from "./s3-fifo.ts";

export interface CachedEmbedding {
  readonly vector: Vector;
  /** This input's share of the tokens that the upstream reported. Undefined: the upstream reported none. */
  readonly tokens: number | undefined;
}

/** Keeps cached vectors in a file, in Redis, or in both. Called for each new vector, and for each use. */
export type CachePersistence = Pick<EmbeddingCacheFile, "add" | "touch" | "clear">;

export interface EmbeddingCacheOptions {
  /** The maximum bytes of vectors and entries together. 0: nothing is cached. */
  readonly maxBytes: number;
  readonly persistence?: CachePersistence;
  /** For models whose weights may change under the same name. Absent: vectors do not expire. */
  readonly expiry?: {
    /** How long a vector is valid, counted from when it was made; use does not extend it. */
    readonly ttlMs: number;
    /** Unix milliseconds. */
    readonly now: () => number;
  };
}

interface Entry {
  /** Float32 numbers, or the padded bytes of a quantized vector. The key decides which: it includes the type. */
  readonly bytes: ArrayBuffer;
  readonly tokens: number | undefined;
  /** Unix milliseconds. 0 in a cache without expiry. */
  readonly madeAt: number;
}

interface KeptText {
  /** The vector of the text: it may have been evicted or replaced since. */
  readonly entry: Entry;
  readonly vector: EncodedVector;
}

/**
 * The share of the cache for the base64 texts of vectors that are read repeatedly. Without them, a cached text takes 1.25
 * times the CPU (`npm run bench -- --only cached`).
 */
export const textShare = 1 / 8;

/** Bytes of an entry besides its vector, with its key and one evicted key. Measured as resident memory. */
export const entryOverhead = 720;

export class EmbeddingCache {
  readonly #persistence: CachePersistence | undefined;
  readonly #expiry: EmbeddingCacheOptions["expiry"];
  readonly #maxBytes: number;
  #entries: S3Fifo<Entry>;
  #texts: S3Fifo<KeptText>;
  #generation = 0;

  constructor({ maxBytes, persistence, expiry }: EmbeddingCacheOptions) {
    this.#persistence = persistence;
    this.#expiry = expiry;
    this.#maxBytes = maxBytes;
    [this.#entries, this.#texts] = this.#empty();
  }

  get bytes(): number {
    return this.#entries.bytes + this.#texts.bytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * Changes when the cache is cleared. The cache is cleared because vectors may be wrong, so a request drops the
   * vectors that it got before.
   */
  get generation(): number {
    return this.#generation;
  }

  /** A copy in the requested format. An expired entry is not returned; it stays until it is set again or evicted. */
  get(key: string, format: "float" | "base64" | QuantizedType): CachedEmbedding | undefined {
    const entry = this.#use(key);
    if (!entry) return undefined;
    const { bytes, tokens } = entry;
    if (format === "base64") return { vector: this.#textOf(key, entry), tokens };
    if (format === "float") return { vector: new Float32Array(bytes.slice(0)), tokens };
    return { vector: unpadded(bytes, format), tokens };
  }

  /** Does not count as a use. */
  has(key: string): boolean {
    const entry = this.#entries.peek(key);
    return entry !== undefined && !this.#isExpired(entry.madeAt);
  }

  /** Takes a vector from the cache that replicas share. It is not persisted. */
  adopt(key: string, { vector, tokens, madeAt }: SharedEmbedding): void {
    if (this.#entries.peek(key) || this.#isExpired(madeAt)) return;
    this.#entries.set(key, { bytes: copyOf(vector), tokens, madeAt }, sizeOf(vector.byteLength));
  }

  /** False: `vector` is a string, but not a base64 vector. True also for a vector that is too large to be cached. */
  set(key: string, { vector, tokens }: CachedEmbedding): boolean {
    const bytes = bytesOf(vector);
    if (!bytes) return false;
    const entry = { bytes, tokens, madeAt: this.#expiry?.now() ?? 0 };
    const isCached = this.#entries.set(key, entry, sizeOf(bytes.byteLength));
    if (isCached) this.#persistence?.add(key, { vector: new Float32Array(bytes), tokens });
    return true;
  }

  /** Clears the cache, the persisted vectors too. When the promise resolves, their disk space is free. */
  async clear(): Promise<void> {
    this.clearMemory();
    await this.#persistence?.clear();
  }

  clearMemory(): void {
    this.#generation++;
    [this.#entries, this.#texts] = this.#empty();
  }

  /** Restores a persisted vector; the most recently used come first. False when the cache is full. */
  restore(key: string, vector: Float32Array, tokens: number | undefined, madeAt = 0): boolean {
    if (this.#entries.peek(key) || this.#isExpired(madeAt)) return true;
    const entry = { bytes: copyOf(vector), tokens, madeAt };
    return this.#entries.restore(key, entry, sizeOf(vector.byteLength));
  }

  #empty(): [S3Fifo<Entry>, S3Fifo<KeptText>] {
    const textBytes = this.#maxBytes * textShare;
    return [new S3Fifo(this.#maxBytes - textBytes, release), new S3Fifo(textBytes)];
  }

  #textOf(key: string, entry: Entry): EncodedVector {
    const kept = this.#texts.get(key);
    if (kept?.entry === entry) return kept.vector;
    const vector = EncodedVector.encode(entry.bytes);
    this.#texts.set(key, { entry, vector }, sizeOf(vector.text.length));
    return vector;
  }

  #use(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || this.#isExpired(entry.madeAt)) return undefined;
    this.#persistence?.touch(key);
    return entry;
  }

  #isExpired(madeAt: number): boolean {
    return this.#expiry !== undefined && this.#expiry.now() - madeAt >= this.#expiry.ttlMs;
  }
}

/** The bytes that an entry with a vector of this many bytes takes. */
const sizeOf = (vectorBytes: number): number => vectorBytes + entryOverhead;

/** At once: until the garbage collector runs, several times the bytes of the cache would accumulate. */
const release = ({ bytes }: Entry): void => {
  bytes.transfer(0);
};

function copyOf(numbers: Float32Array | readonly number[]): ArrayBuffer {
  const bytes = new ArrayBuffer(numbers.length * Float32Array.BYTES_PER_ELEMENT);
  new Float32Array(bytes).set(numbers);
  return bytes;
}

/**
 * Padded to whole float32 numbers, because persisted vectors are float32: the last byte is the length of the padding,
 * as in PKCS #7.
 */
function paddedCopy(vector: QuantizedVector): ArrayBuffer {
  const padding = 4 - (vector.length % 4);
  const bytes = new ArrayBuffer(vector.length + padding);
  const copy = new Uint8Array(bytes).fill(padding, vector.length);
  copy.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.length));
  return bytes;
}

function unpadded(bytes: ArrayBuffer, type: QuantizedType): QuantizedVector {
  const padding = new Uint8Array(bytes).at(-1) ?? 0;
  const copy = bytes.slice(0, bytes.byteLength - padding);
  return type === "int8" ? new Int8Array(copy) : new Uint8Array(copy);
}

/** Undefined if a text is not strict base64 of whole float32 numbers. */
function bytesOf(vector: Vector): ArrayBuffer | undefined {
  if (isQuantized(vector)) return paddedCopy(vector);
  if (typeof vector !== "string" && !(vector instanceof EncodedVector)) return copyOf(vector);
  const length = dimensionsOf(vector) * Float32Array.BYTES_PER_ELEMENT;
  if (length < 0) return undefined;
  const bytes = new ArrayBuffer(length);
  if (typeof vector === "string")
    return decodeText(vector, new Uint8Array(bytes)) === length ? bytes : undefined;
  vector.decode().copy(new Uint8Array(bytes));
  return bytes;
}
