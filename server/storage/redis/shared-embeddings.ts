/**
 * Second level of the embedding cache, which replicas share in Redis. It never delays or fails a request noticeably.
 *
 * A value has a keyed checksum (`EmbeddingSeal`): a value whose checksum
 * is wrong is a miss, and is deleted. The generation is a random value in Redis: cache invalidation replaces it, and
 * all earlier values are misses. Other replicas notice by it that the cache was cleared. If the cache is cleared while
 * Redis is unavailable, the generation is replaced when Redis is available again, and this replica reads nothing
 * before. `add` and `clear` are synchronous because they only buffer.
 */
import { randomBytes } from "node:crypto";
import { ignoreRejection } from "../../lib/tasks.ts";
import { withTimeout } from "../../lib/timers.ts";
import type { PersistedEmbedding } from "../sqlite/embedding-cache-table.ts";
import type { RedisConnection } from "./client.ts";
import { EmbeddingSeal, generationBytes, type SharedEmbedding } from "./sealed-embedding.ts";

const generationKey = "vexel:embeddings:generation";
/** The part of the SHA-256 that is the key in Redis. */
const keyBytes = 16;
const keyPrefix = Buffer.from("vxe:");

/** A slower response counts as a miss. */
const defaultTimeoutMs = 10;
/** The bounds of lookups in flight, of pending writes, and of one write. */
const [maxKeysInFlight, maxPending, maxBatch] = [8192, 4096, 256];

interface SharedEmbeddingsOptions {
  /** `VEXEL_SECRET`: replicas with the same secret share their vectors. */
  readonly secret: string;
  readonly ttlMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly timeoutMs?: number;
}

export class SharedEmbeddings {
  readonly #redis: RedisConnection;
  readonly #options: Required<SharedEmbeddingsOptions>;
  readonly #seal: EmbeddingSeal;
  /** Values whose keyed checksum was wrong. */
  rejected = 0;
  readonly #pending = new Map<string, Buffer<ArrayBuffer>>();
  #keysInFlight = 0;
  #writing: Promise<void> | undefined;
  /** The generation of a clear that is not in Redis yet. */
  #nextGeneration: string | undefined;
  /** The generation that was last read from Redis, or written to it. */
  #lastGeneration: string | undefined;
  #onCleared: () => Promise<void> = async () => undefined;
  /** The number of calls of the listener that have not settled. */
  #listening = 0;
  readonly #stopListening: () => void;

  constructor(redis: RedisConnection, options: SharedEmbeddingsOptions) {
    this.#redis = redis;
    this.#options = { timeoutMs: defaultTimeoutMs, ...options };
    this.#seal = new EmbeddingSeal(options.secret);
    this.#stopListening = redis.onChange(({ isAvailable }) => {
      if (isAvailable) this.#replaceGeneration();
    });
  }

  /**
   * For each key its embedding, or undefined. Resolves within a few milliseconds; a key that was not found by then
   * counts as missing. Undefined if the cache is unavailable or busy.
   */
  get(keys: readonly string[]): Promise<readonly (SharedEmbedding | undefined)[]> | undefined {
    if (!this.#redis.isAvailable || this.#nextGeneration !== undefined) return undefined;
    if (this.#keysInFlight + keys.length > maxKeysInFlight) return undefined;
    return this.#lookUp(keys);
  }

  /** In the background. Copies the vector before it returns. */
  add(key: string, embedding: PersistedEmbedding): void {
    if (!this.#redis.isAvailable || this.#pending.size >= maxPending) return;
    if (this.#listening > 0) return;
    this.#pending.set(key, this.#seal.encode(embedding, this.#options.now()));
    this.#writing ??= this.#write();
  }

  /**
   * From now on, this replica gets no embedding that was added before, and no other replica as soon as the cache is
   * available.
   */
  clear(): void {
    this.#pending.clear();
    this.#nextGeneration = newGeneration("cleared");
    this.#replaceGeneration();
  }

  /**
   * Sets the one listener that is called after another replica has cleared the cache. Until its promise settles, this
   * replica adds no embedding.
   */
  onCleared(listener: () => Promise<void>): void {
    this.#onCleared = listener;
  }

  /** Writes all pending embeddings. */
  async close(): Promise<void> {
    this.#stopListening();
    await this.#writing;
  }

  /** A failed attempt is repeated: the connection is lost with it, and this runs when there is another one. */
  #replaceGeneration(): void {
    const generation = this.#nextGeneration;
    if (generation === undefined) return;
    const replacing = this.#redis.run((client) => client.set(generationKey, generation));
    ignoreRejection(
      replacing.then(() => {
        if (this.#nextGeneration !== generation) return;
        this.#nextGeneration = undefined;
        this.#lastGeneration = generation;
      }),
    );
  }

  async #lookUp(keys: readonly string[]): Promise<readonly (SharedEmbedding | undefined)[]> {
    this.#keysInFlight += keys.length;
    const found: (SharedEmbedding | undefined)[] = new Array(keys.length);
    const reading = this.#redis.run((client) =>
      Promise.all([
        client.get(generationKey),
        Promise.all(keys.map((key) => client.getBuffer(redisKey(key)))),
      ]),
    );
    const release = (): void => {
      this.#keysInFlight -= keys.length;
    };
    reading.then(release, release);
    try {
      const read = await withTimeout(reading, this.#options.timeoutMs);
      if (!read?.[0]) return found;
      const [generation, values] = read;
      if (this.#readGeneration(generation) === "changed") return found;
      for (const [at, value] of values.entries()) {
        if (value) found[at] = this.#open(keys[at] as string, value, generation);
      }
    } catch {
      // Redis has just become unavailable, which its connection reports: all inputs are misses.
    }
    return found;
  }

  #open(key: string, value: Uint8Array, generation: string): SharedEmbedding | undefined {
    const opened = this.#seal.open(key, value, generation);
    if (opened === "outdated") return undefined;
    if (opened !== "rejected") return opened;
    this.rejected++;
    ignoreRejection(this.#redis.run((client) => client.del(redisKey(key))));
    return undefined;
  }

  /** One batch after the other, until nothing is pending. */
  async #write(): Promise<void> {
    // Collects the vectors of a whole response, and of others that end at the same time.
    await Bun.sleep(5);
    try {
      while (this.#pending.size > 0) {
        const batch = this.#pending.entries().take(maxBatch).toArray();
        for (const [key] of batch) this.#pending.delete(key);
        await this.#set(batch);
      }
    } catch {
      // A vector that is not written is a miss.
      this.#pending.clear();
    } finally {
      this.#writing = undefined;
    }
  }

  async #set(batch: readonly (readonly [string, Buffer<ArrayBuffer>])[]): Promise<void> {
    await this.#redis.run(async (client) => {
      const generation = (await client.get(generationKey)) ?? (await this.#begin(client));
      // This or another replica has cleared the cache: these vectors may have been received before that.
      if (this.#readGeneration(generation) === "changed") return;
      await Promise.all(
        batch.map(([key, value]) => {
          this.#seal.seal(key, value, generation);
          return client.set(redisKey(key), value, "PX", this.#options.ttlMs);
        }),
      );
    });
  }

  /** Calls the listener if another replica has cleared the cache. */
  #readGeneration(generation: string): "same" | "changed" {
    // A clear of this replica is not in Redis yet.
    if (this.#nextGeneration !== undefined) return "changed";
    const last = this.#lastGeneration;
    this.#lastGeneration = generation;
    if (last === undefined || last === generation || !isCleared(generation)) return "same";
    this.#pending.clear();
    this.#listening++;
    const settled = (): void => {
      this.#listening--;
    };
    this.#onCleared().then(settled, settled);
    return "changed";
  }

  /** The first generation, or one after a loss of data. */
  async #begin(client: Parameters<Parameters<RedisConnection["run"]>[0]>[0]): Promise<string> {
    const generation = newGeneration("begun");
    await client.set(generationKey, generation, "NX");
    return (await client.get(generationKey)) ?? generation;
  }
}

/** The first byte tells other replicas whether the cache was cleared: after a loss of data, vectors stay valid. */
const firstByte = { begun: 0, cleared: 1 } as const;

function newGeneration(origin: keyof typeof firstByte): string {
  const bytes = randomBytes(generationBytes);
  bytes[0] = firstByte[origin];
  return bytes.toString("hex");
}

const isCleared = (generation: string): boolean =>
  Buffer.from(generation, "hex")[0] === firstByte.cleared;

/** `key`: SHA-256 in base64. */
const redisKey = (key: string): Buffer =>
  Buffer.concat([keyPrefix, Buffer.from(key, "base64").subarray(0, keyBytes)]);
