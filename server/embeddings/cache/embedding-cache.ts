/**
 * Embedding cache in memory, bounded by bytes, with an optional time to live (TTL). `s3-fifo.ts` decides which entry is
 * evicted. No view of a cached vector leaves the cache: its memory is released as soon as it is evicted.
 */
import { nextTurn, runInSteps } from "../../lib/tasks.ts";
import { decodeText, EncodedVector } from "../../lib/vector-codec/index.ts";
import type { SharedEmbedding } from "../../storage/redis/sealed-embedding.ts";
import type { EmbeddingCacheFile } from "../../storage/sqlite/embedding-cache-file.ts";
import type { QuantizedType, QuantizedVector, Vector } from "../../upstream/contract.ts";
import { dimensionsOf, isQuantized } from "../vector-formats.ts";
import { S3Fifo } from "./s3-fifo.ts";

export interface CachedEmbedding {
  readonly vector: Vector;
  /** This input's share of the tokens that the upstream reported. Undefined if the upstream reported none. */
  readonly tokens: number | undefined;
}

/** Keeps cached vectors in a file, in Redis, or in both. Called for each new vector, and for each use. */
export type CachePersistence = Pick<EmbeddingCacheFile, "add" | "touch" | "clear">;

export interface EmbeddingCacheOptions {
  /** The maximum bytes of vectors and entries together. 0: nothing is cached. */
  readonly maxBytes: number;
  readonly persistence?: CachePersistence;
  /** For models whose weights may change under the same name. If absent, vectors do not expire. */
  readonly expiry?: {
    /** How long a vector is valid, counted from when it was made; use does not extend it. */
    readonly ttlMs: number;
    /** Unix milliseconds. */
    readonly now: () => number;
  };
}

/** The memory of the vectors of a response. It is released when none of them is cached any more. */
interface VectorBuffer {
  readonly bytes: ArrayBuffer;
  /** Cached vectors in it. */
  entries: number;
}

interface Entry {
  /** Float32 numbers, or the padded bytes of a quantized vector. The key decides which: it includes the type. */
  buffer: VectorBuffer;
  from: number;
  readonly length: number;
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
 * The share of the cache for the base64 texts of vectors that are read repeatedly. Without them, a cached text takes
 * 1.25 times the CPU (`npm run bench -- --only cached`).
 */
export const textShare = 1 / 8;

/** Vectors of one response share a buffer of up to this size: to allocate each of them would take twice the time. */
const maxSharedBytes = 1024 * 1024;
/** The share of the cache that one buffer may have. */
const maxBufferShare = 1 / 32;
/** Bytes of vectors that are stored in one step: a few milliseconds. */
const stepBytes = 4 * 1024 * 1024;

/** Bytes of an entry besides its vector, with its key and one evicted key. Measured as resident memory. */
export const entryOverhead = 720;

export class EmbeddingCache {
  readonly #persistence: CachePersistence | undefined;
  readonly #expiry: EmbeddingCacheOptions["expiry"];
  readonly #maxBytes: number;
  readonly #maxSharedBytes: number;
  #entries: S3Fifo<Entry>;
  #spare: ArrayBuffer | undefined;
  #texts: S3Fifo<KeptText>;
  #generation = 0;

  constructor({ maxBytes, persistence, expiry }: EmbeddingCacheOptions) {
    this.#persistence = persistence;
    this.#expiry = expiry;
    this.#maxBytes = maxBytes;
    this.#maxSharedBytes = Math.min(maxSharedBytes, maxBytes * maxBufferShare);
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
    const { tokens } = entry;
    if (format === "base64") return { vector: this.#textOf(key, entry), tokens };
    const bytes = copyOf(entry);
    if (format === "float") return { vector: new Float32Array(bytes), tokens };
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
    this.#entries.set(key, entryOf(vector, tokens, madeAt), sizeOf(vector.byteLength));
  }

  /** False: `vector` is a string, but not a base64 vector. True also for a vector that is too large to be cached. */
  set(key: string, embedding: CachedEmbedding): boolean {
    // One vector is one step.
    return this.setAll([key], [embedding.vector], [embedding.tokens]) as boolean;
  }

  /** The same for the vectors of a response, which share buffers. A promise for many vectors. */
  setAll(
    keys: readonly string[],
    vectors: readonly Vector[],
    tokens: readonly (number | undefined)[],
  ): boolean | Promise<boolean> {
    const steps = this.#setSteps(keys, vectors, tokens);
    const { done, value } = steps.next();
    return done ? value : nextTurn().then(() => runInSteps(steps));
  }

  *#setSteps(
    keys: readonly string[],
    vectors: readonly Vector[],
    tokens: readonly (number | undefined)[],
  ): Generator<void, boolean> {
    const generation = this.#generation;
    const madeAt = this.#expiry?.now() ?? 0;
    let left = stepBytes;
    const lengths = vectors.map(lengthOf);
    const perBuffer = this.#vectorsPerBuffer(keys.length, lengths[0] ?? 0);
    for (let first = 0; first < keys.length; first += perBuffer) {
      const end = Math.min(first + perBuffer, keys.length);
      let size = 0;
      for (let at = first; at < end; at++) size += Math.max(0, lengths[at] as number);
      const buffer = { bytes: this.#allocate(size), entries: end - first };
      const bytes = new Uint8Array(buffer.bytes);
      let from = 0;
      for (let at = first; at < end; at++) {
        const length = lengths[at] as number;
        if (!writeVector(vectors[at] as Vector, bytes, from, length)) return false;
        this.#add(keys[at] as string, { buffer, from, length, tokens: tokens[at], madeAt });
        from += length;
      }
      left -= size;
      if (left > 0 || end === keys.length) continue;
      left = stepBytes;
      yield;
      // Cleared meanwhile: these vectors may be wrong too.
      if (this.#generation !== generation) return true;
    }
    return true;
  }

  /** Buffers of one response have the same size, so that the next response can use them. */
  #vectorsPerBuffer(count: number, length: number): number {
    const buffers = Math.ceil((count * length) / this.#maxSharedBytes);
    return Math.ceil(count / Math.min(count, Math.max(1, buffers)));
  }

  /** Uses the buffer that was released last: mostly, the next response has as many vectors. */
  #allocate(size: number): ArrayBuffer {
    const spare = this.#spare;
    if (spare?.byteLength !== size) return new ArrayBuffer(size);
    this.#spare = undefined;
    return spare;
  }

  #add(key: string, entry: Entry): void {
    const { buffer, from, length, tokens } = entry;
    if (!this.#entries.set(key, entry, sizeOf(length))) return;
    this.#persistence?.add(key, {
      vector: new Float32Array(buffer.bytes, from, length / 4),
      tokens,
    });
  }

  /** The entry no longer refers to its buffer. The buffer counts as a whole until its last entry has left it. */
  #leave({ buffer, length }: Entry): void {
    this.#entries.heldBytes += length;
    if (--buffer.entries > 0) return;
    this.#entries.heldBytes -= buffer.bytes.byteLength;
    // At once: until the garbage collector runs, several times the bytes of the cache would accumulate.
    this.#spare?.transfer(0);
    this.#spare = buffer.bytes;
  }

  /** The entry may stay much longer than the others of its buffer, so it gets one of its own. */
  #separate(entry: Entry): void {
    if (entry.buffer.bytes.byteLength === entry.length) return;
    const bytes = copyOf(entry);
    this.#leave(entry);
    entry.buffer = { bytes, entries: 1 };
    entry.from = 0;
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
    const entry = entryOf(vector, tokens, madeAt);
    return this.#entries.restore(key, entry, sizeOf(vector.byteLength));
  }

  #empty(): [S3Fifo<Entry>, S3Fifo<KeptText>] {
    const textBytes = this.#maxBytes * textShare;
    const entries = new S3Fifo<Entry>(this.#maxBytes - textBytes, {
      onRemoved: (entry) => this.#leave(entry),
      onEnterMain: (entry) => this.#separate(entry),
    });
    return [entries, new S3Fifo(textBytes)];
  }

  #textOf(key: string, entry: Entry): EncodedVector {
    const kept = this.#texts.get(key);
    if (kept?.entry === entry) return kept.vector;
    const { buffer, from, length } = entry;
    const vector = EncodedVector.encode(Buffer.from(buffer.bytes, from, length));
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

const entryOf = (vector: Float32Array, tokens: number | undefined, madeAt: number): Entry => {
  const bytes = vector.slice().buffer as ArrayBuffer;
  return { buffer: { bytes, entries: 1 }, from: 0, length: bytes.byteLength, tokens, madeAt };
};

const copyOf = ({ buffer, from, length }: Entry): ArrayBuffer =>
  buffer.bytes.slice(from, from + length);

/**
 * The stored bytes of a vector; negative if it is a text, but not base64 of whole float32 numbers. Quantized vectors
 * are padded to whole float32 numbers, because persisted vectors are float32.
 */
const lengthOf = (vector: Vector): number =>
  isQuantized(vector)
    ? vector.length + paddingOf(vector)
    : dimensionsOf(vector) * Float32Array.BYTES_PER_ELEMENT;

const paddingOf = ({ length }: QuantizedVector): number => 4 - (length % 4);

function unpadded(bytes: ArrayBuffer, type: QuantizedType): QuantizedVector {
  const padding = new Uint8Array(bytes).at(-1) ?? 0;
  const copy = bytes.slice(0, bytes.byteLength - padding);
  return type === "int8" ? new Int8Array(copy) : new Uint8Array(copy);
}

/** False if a text is not strict base64 of whole float32 numbers. */
function writeVector(vector: Vector, into: Uint8Array, from: number, length: number): boolean {
  if (length < 0) return false;
  if (typeof vector === "string")
    return decodeText(vector, into.subarray(from, from + length)) === length;
  if (vector instanceof EncodedVector) vector.decodeInto(into, from);
  else if (isQuantized(vector)) {
    into.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.length), from);
    // The last byte is the length of the padding, as in PKCS #7.
    into.fill(paddingOf(vector), from + vector.length, from + length);
  } else new Float32Array(into.buffer, from, vector.length).set(vector);
  return true;
}
