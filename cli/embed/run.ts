/** A run: reads rows, embeds batches concurrently, and stores the results in the order of the input. */
import { abortable, ignoreRejection } from "../../server/lib/tasks.ts";
import { UsageError } from "../command.ts";
import { batchesOf } from "./batches.ts";
import type { EmbeddingClient } from "./client.ts";
import { type EmbeddedBatch, embedBatch } from "./embed-batch.ts";
import type { FailedRow, TextRow } from "./row.ts";
import type { RunStore } from "./run-store.ts";

interface RunOptions {
  readonly rows: AsyncIterable<TextRow | FailedRow>;
  readonly client: EmbeddingClient;
  /** Ends the requests in flight, after an error. */
  readonly abort: AbortController;
  readonly store: RunStore;
  readonly batchSize: number;
  readonly concurrency: number;
  /** When it aborts, no further batch is started. */
  readonly stop: AbortSignal;
  onProgress(): void;
}

/** Batches that are read ahead of the oldest unfinished one, so that a slow request does not hold up the others. */
const batchesAhead = 4;

/** With this number of failed texts and no vector, the run ends. */
const maxFailedAtStart = 100;

/** Returns whether the input was read to its end. Throws ServerError if the server does not serve the requests. */
export async function run(options: RunOptions): Promise<boolean> {
  const pending: Promise<EmbeddedBatch>[] = [];
  try {
    return await runBatches(options, pending);
  } catch (error) {
    options.abort.abort();
    await Promise.allSettled(pending);
    throw error;
  }
}

async function runBatches(
  options: RunOptions,
  pending: Promise<EmbeddedBatch>[],
): Promise<boolean> {
  const { store, client, batchSize, concurrency, stop } = options;
  const turns = new Turns(concurrency);
  const batches = batchesOf(skipRows(options.rows, store), batchSize);
  const settleOldest = async (): Promise<void> => {
    const batch = await pending.shift();
    if (!batch) return;
    await store.append(batch);
    checkStart(store, batch);
    options.onProgress();
  };
  let hasFailed = false;
  for (;;) {
    const next = await nextUnless(stop, batches);
    if (!next || next.done) {
      const isDrained = await drain(pending, settleOldest, stop);
      return isDrained && next !== undefined;
    }
    const work = turns.take(async () => {
      stop.throwIfAborted();
      // An earlier batch has failed, and its error is reported.
      if (hasFailed) throw new Error("not sent");
      try {
        return await embedBatch(next.value, (texts) => client.embed(texts));
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    });
    // An earlier batch may fail first.
    ignoreRejection(work);
    pending.push(work);
    if (pending.length >= concurrency * batchesAhead) await settleOldest();
  }
}

/** Returns false if batches were not started, because the run was stopped. */
async function drain(
  pending: readonly unknown[],
  settleOldest: () => Promise<void>,
  stop: AbortSignal,
): Promise<boolean> {
  try {
    while (pending.length > 0) await settleOldest();
    return true;
  } catch (error) {
    if (stop.aborted && error === stop.reason) return false;
    throw error;
  }
}

/** Undefined if the signal has aborted, also while standard input was silent. */
async function nextUnless<T>(stop: AbortSignal, batches: AsyncIterator<T>) {
  if (stop.aborted) return undefined;
  try {
    return await abortable(batches.next(), stop);
  } catch (error) {
    if (stop.aborted) return undefined;
    throw error;
  }
}

/** Discards the run if the first texts all failed: the cause is an option or the server. */
function checkStart(store: RunStore, { results }: EmbeddedBatch): void {
  const { rows, failed } = store.checkpoint;
  if (rows > failed || failed < maxFailedAtStart) return;
  store.discard();
  const last = results.at(-1);
  const reason = last && "error" in last ? last.error : "";
  throw new UsageError(`none of the first ${rows} texts was embedded. The last error: ${reason}`);
}

/** Leaves out the rows that earlier runs have settled. Throws UsageError if the input has changed. */
async function* skipRows(
  rows: AsyncIterable<TextRow | FailedRow>,
  { checkpoint, digest, paths }: RunStore,
): AsyncGenerator<TextRow | FailedRow> {
  const { rows: settled, lastId, digest: before } = checkpoint;
  const changed = (what: string): UsageError =>
    new UsageError(
      `--input has changed since the run began: ${what}. Give the input as it was, or delete ${paths.checkpoint} to embed all of it from the beginning`,
    );
  let number = 0;
  for await (const row of rows) {
    number++;
    if (number > settled) {
      yield row;
      continue;
    }
    digest.add(row);
    if (number < settled) continue;
    if (row.id !== lastId) throw changed(`the id of row ${settled} was ${lastId} and is ${row.id}`);
    if (digest.hex() !== before)
      throw changed(
        `one of the first ${settled} rows, which were embedded or have failed, is another one now`,
      );
  }
  if (number < settled)
    throw changed(`it has ${number} rows, and ${settled} were embedded or have failed already`);
}

/** Limits how many tasks run at the same time, in the order of arrival. */
class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** `work` may throw before it starts. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free--;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
