/**
 * Objects in an S3 bucket (`BLOB_URL`). Bun's S3Client signs the requests and uploads in parts. Every operation has a
 * timeout. After the object store did not respond, it gets no requests for a moment, so that requests do not wait for
 * it one by one.
 */
import { S3Client, type S3File } from "bun";
import { type BorrowedChunks, viewOf } from "../../lib/borrowed-bytes.ts";
import { errorCode, errorMessage } from "../../lib/error-code.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { runConcurrently } from "../../lib/tasks.ts";
import { type TimeCall, untimed } from "../../lib/time-call.ts";
import { startTimeout } from "../../lib/timers.ts";
import type { BlobLocation } from "./blob-url.ts";

interface ObjectStoreOptions {
  readonly location: BlobLocation;
  /** Milliseconds, monotonic: a wall clock that is set back would extend the backoff. */
  readonly clock: () => number;
  /** The longest time for a request; an upload, and a large object that is read, have six times as long. */
  readonly timeoutMs?: number;
  /** Undefined if the object store responds again. Called when it changes. */
  readonly onAvailability?: (error: Error | undefined) => void;
  /** Observes how long each request takes. */
  readonly timeCall?: TimeCall | undefined;
}

interface StoredObject {
  readonly key: string;
  readonly size: number;
  /** Unix milliseconds, by the clock of the object store. */
  readonly modifiedAt: number;
}

/** Backoff after a failure. */
const pauseMs = 2000;
/** S3 accepts no smaller parts. One part of each upload is in memory. */
const partSize = 5 * 1024 * 1024;
const parallelDeletes = 16;
const longFactor = 6;
/** The slowest upload that does not time out, for objects of a known size. */
const minBytesPerSecond = 1024 * 1024;

export class ObjectStore {
  readonly #options: Required<ObjectStoreOptions> & { readonly timeCall: TimeCall };
  readonly #client: S3Client;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #isAvailable = true;

  constructor(options: ObjectStoreOptions) {
    this.#options = {
      timeoutMs: 10_000,
      onAvailability: () => undefined,
      ...options,
      timeCall: options.timeCall ?? untimed,
    };
    const { prefix: _prefix, links: _links, ...client } = options.location;
    this.#client = new S3Client(client);
  }

  /** The longest time for a request, and between two chunks of an object. */
  get timeoutMs(): number {
    return this.#options.timeoutMs;
  }

  /** Whether the last request succeeded. */
  get isAvailable(): boolean {
    return this.#isAvailable;
  }

  /**
   * Stores the object completely or not at all, with one part at a time in memory. Rejects with GatewayError, or with
   * the error of the source. `size`: a large object may take longer. If absent, it is small.
   */
  async write(key: string, chunks: BorrowedChunks, type: string, size = 0): Promise<void> {
    const source = stoppable(chunks);
    const upload = async (): Promise<void> => {
      try {
        // If this stream fails, no object is stored. Bun's writer would store the chunks written before the failure.
        const body = new Response(source.chunks());
        await this.#file(key).write(body, { type, partSize, queueSize: 1 });
      } catch (error) {
        if (source.error === undefined) throw error;
      }
    };
    try {
      const extraMs = (size / minBytesPerSecond) * 1000;
      await this.#run(upload, longFactor + extraMs / this.#options.timeoutMs);
    } finally {
      source.stop();
    }
    if (source.error !== undefined) throw source.error;
  }

  async writeText(key: string, text: string): Promise<void> {
    await this.#run(() => this.#file(key).write(text, { type: "application/json" }));
  }

  /** The object, and its content, which is read on demand. */
  async find(key: string): Promise<(StoredObject & { readonly content: Blob }) | undefined> {
    const file = this.#file(key);
    const stat = await this.#run(() => orUndefined(file.stat()));
    // An empty object has no range that could be requested.
    return (
      stat && {
        key,
        size: stat.size,
        modifiedAt: stat.lastModified.getTime(),
        content: stat.size === 0 ? new Blob() : file,
      }
    );
  }

  /** The whole object in memory. */
  readBytes(key: string): Promise<Uint8Array | undefined> {
    return this.#run(() => orUndefined(this.#file(key).bytes()), longFactor);
  }

  /** Undefined if it does not exist. */
  readText(key: string): Promise<string | undefined> {
    return this.#run(() => orUndefined(this.#file(key).text()));
  }

  /** Also succeeds if the object does not exist. */
  async remove(key: string): Promise<void> {
    await this.#run(() => orUndefined(this.#file(key).delete()));
  }

  /** Deletes expired objects whose keys begin with `start`. Returns the size of the others. */
  async sweep(start: string, isExpired: (object: StoredObject) => boolean): Promise<number> {
    let bytes = 0;
    for await (const page of this.#list(start)) {
      const expired = page.filter(isExpired).map(({ key }) => key);
      await runConcurrently(expired, parallelDeletes, (key) =>
        this.#run(() => this.#file(key).delete()),
      );
      for (const object of page) if (!isExpired(object)) bytes += object.size;
    }
    return bytes;
  }

  /** All objects whose keys begin with `start`. */
  async list(start: string): Promise<StoredObject[]> {
    const all: StoredObject[] = [];
    for await (const page of this.#list(start)) all.push(...page);
    return all;
  }

  async *#list(start: string): AsyncGenerator<StoredObject[]> {
    const prefix = this.#options.location.prefix;
    for (let continuationToken: string | undefined; ; ) {
      const page = await this.#run(() =>
        this.#client.list({
          prefix: prefix + start,
          ...(continuationToken !== undefined && { continuationToken }),
        }),
      );
      yield (page.contents ?? []).map(({ key, size = 0, lastModified = "" }) => ({
        key: key.slice(prefix.length),
        size,
        modifiedAt: Date.parse(lastModified),
      }));
      continuationToken = page.nextContinuationToken;
      if (!page.isTruncated || continuationToken === undefined) return;
    }
  }

  /** A URL of the object store that needs no other credentials. */
  presign(key: string, expiresIn: number): string {
    return this.#file(key).presign({ method: "GET", expiresIn });
  }

  #file(key: string): S3File {
    return this.#client.file(this.#options.location.prefix + key);
  }

  async #run<T>(work: () => Promise<T>, factor = 1): Promise<T> {
    const { clock } = this.#options;
    const timeoutMs = this.#options.timeoutMs * factor;
    if (clock() < this.#pausedUntil) throw unavailable(new Error("it did not respond just now"));
    const { promise: late, reject } = Promise.withResolvers<never>();
    const message = `no response within ${timeoutMs} ms`;
    const stop = startTimeout(timeoutMs, () => reject(new Error(message)));
    try {
      const result = await this.#options.timeCall(() => Promise.race([work(), late]));
      this.#report(undefined);
      return result;
    } catch (error) {
      const reason = new Error(describe(error), { cause: error });
      this.#pausedUntil = clock() + pauseMs;
      this.#report(reason);
      throw unavailable(reason);
    } finally {
      stop();
    }
  }

  #report(error: Error | undefined): void {
    const isAvailable = error === undefined;
    if (isAvailable === this.#isAvailable) return;
    this.#isAvailable = isAvailable;
    this.#options.onAvailability(error);
  }
}

/** The chunks of a source that is not read any more once it is stopped, and the error of the source. */
function stoppable(source: BorrowedChunks) {
  let isStopped = false;
  const result: { error?: unknown; stop(): void; chunks(): AsyncGenerator<Uint8Array> } = {
    stop: () => {
      isStopped = true;
    },
    async *chunks() {
      try {
        for await (const chunk of source) {
          if (isStopped) throw new Error("the upload has ended");
          yield viewOf(chunk);
        }
      } catch (error) {
        result.error = error;
        throw error;
      }
    },
  };
  return result;
}

/** Undefined if the object does not exist. */
async function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (errorCode(error) === "NoSuchKey") return undefined;
    throw error;
  }
}

/** Some errors of Bun's client have no message but a code. */
function describe(error: unknown): string {
  const code = errorCode(error);
  const message = errorMessage(error);
  return code === "" ? message : `${code}: ${message}`;
}

const unavailable = (cause: Error): GatewayError =>
  new GatewayError(
    "storage_unavailable",
    "The object store of this gateway (BLOB_URL) cannot be reached. Retry later.",
    { retryAfterMs: pauseMs, cause, logDetail: cause.message },
  );
