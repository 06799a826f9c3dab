/**
 * Runs the lines of a claimed range. Image lines run one after the other, and each is settled at once, because it is
 * paid for. Embedding lines run concurrently and are settled together: after a crash, they are repeated.
 */
import { type BorrowedBytes, copyOf } from "../lib/borrowed-bytes.ts";
import type { ByteTurns } from "../lib/byte-turns.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { ignoreRejection, nextTurn } from "../lib/tasks.ts";
import type { Timers } from "../lib/timers.ts";
import type { Turns } from "../lib/turns.ts";
import { toGatewayError } from "../request/error-response.ts";
import type { FileStore } from "../storage/ports/file-store.ts";
import type { JobStore } from "../storage/sql/job-store.ts";
import type { ClaimedRange, RangeClaim, RangeReservation } from "../storage/sql/stored-job.ts";
import { withBillingWarning } from "../upstream/may-have-been-billed.ts";
import { groupLines } from "./group-lines.ts";
import {
  chunksOf,
  type JobKind,
  type JobLine,
  jobErrorOf,
  type LineResult,
  type MergedLines,
  RangeWaits,
  type RecordVendorBatch,
  type SegmentKind,
} from "./job-kind.ts";
import { joinSmall } from "./join-small.ts";
import { type LineAttempts, Stopped } from "./line-attempts.ts";
import { isSuccessful, resultsOfLines } from "./merged-results.ts";
import type { Pace } from "./pace.ts";
import { replacing, withoutLine } from "./range-reservation.ts";
import { retryStorage } from "./retry-storage.ts";
import { removeUnsettled, type WrittenSegment, writeSegment } from "./segments.ts";

export interface RunRangeOptions {
  readonly store: JobStore;
  readonly files: FileStore;
  readonly attempts: LineAttempts;
  readonly pace: Pace;
  /** Aborted when the gateway stops. */
  readonly stopping: AbortSignal;
  readonly timers: Timers;
  readonly byteTurns: Pick<ByteTurns, "steps">;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** A line was charged: that much is still reserved for the range. */
  readonly onCharged: (range: ClaimedRange, reserved: RangeReservation) => void;
}

/** Results in memory are written when they have this size, or after this time: a crash loses no more. */
const flushBytes = 8 * 1024 * 1024;
const flushMs = 5000;

export class RangeRun {
  readonly #options: RunRangeOptions;
  readonly #kind: JobKind;
  readonly #range: ClaimedRange;
  readonly #claim: RangeClaim;
  /** For lines and results, which may have many megabytes. */
  readonly #turns: Turns;
  #settled: number;
  #flushedAt: number;
  /** A result could not be stored. */
  #isLost = false;
  /** The database did not record something of the range. Undefined: it did, or it was not asked. */
  #unsettled: { readonly error: unknown } | undefined;
  /** The known cost of lines that are not settled yet, in US dollars. Null: unknown. */
  #cost: number | null = null;
  #listCost: number | null = null;
  #reserved: RangeReservation | null;
  /** Results of embedding lines that are not written yet. */
  #buffered: { output: Uint8Array[]; error: Uint8Array[]; bytes: number; lines: boolean[] } =
    empty();

  constructor(options: RunRangeOptions, kind: JobKind, range: ClaimedRange, claim: RangeClaim) {
    this.#options = options;
    this.#kind = kind;
    this.#range = range;
    this.#claim = claim;
    this.#turns = options.byteTurns.steps(range.job.owner);
    this.#settled = range.settled;
    this.#reserved = range.reserved ?? null;
    this.#flushedAt = options.now();
  }

  /** Never rejects because of a line, only if the database fails. A range that is not done is given back. */
  async run(): Promise<void> {
    const { store, files, now } = this.#options;
    const { attempts, lines } = this.#range;
    let againAt = now();
    let isUnused = false;
    try {
      if (attempts > 0) await removeUnsettled(files, this.#range);
      for await (const group of groupLines(this.#kind.lines(this.#range, this.#record))) {
        await this.#runGroup(group);
      }
      await this.#flush();
      if (this.#settled < lines) throw incompleteInput();
    } catch (error) {
      isUnused = error instanceof RangeWaits;
      if (error instanceof RangeWaits) againAt = error.at;
      else if (error instanceof Stopped) await this.#flushBeforeEnd();
      else if (this.#mayReadAgain(error)) againAt = now() + readAgainMs;
      else await this.#fail(error);
    } finally {
      // Embedding lines that are not settled are sent again, and paid for again: not at once, and not without a log line.
      if (this.#unsettled) againAt = now() + readAgainMs;
      await store.releaseRange(this.#claim, againAt, isUnused);
    }
    if (this.#unsettled) throw this.#unsettled.error;
  }

  readonly #record: RecordVendorBatch = async (vendorBatch, reserved) => {
    const { store } = this.#options;
    if (reserved !== undefined) this.#reserved = reserved && replacing(this.#reserved, reserved);
    const record = () => store.recordVendorBatch(this.#claim, vendorBatch, this.#reserved);
    if (!(await this.#change(record))) throw new Stopped();
  };

  /** The line is charged, or never will be. */
  #release({ reserved }: JobLine): void {
    if (!reserved || !this.#reserved) return;
    this.#reserved = withoutLine(this.#reserved, reserved);
    this.#options.onCharged(this.#range, this.#reserved);
  }

  /** The input cannot be read at the moment. */
  #mayReadAgain(error: unknown): boolean {
    const isUnavailable = error instanceof GatewayError && error.kind === "storage_unavailable";
    return isUnavailable && !this.#isLost && this.#options.now() < this.#range.job.deadline;
  }

  async #fail(error: unknown): Promise<void> {
    const { store, now } = this.#options;
    await store.fail(this.#range.job.id, jobErrorOf(toGatewayError(error, undefined)), now());
  }

  async #runGroup(group: readonly JobLine[]): Promise<void> {
    const first = this.#settled + this.#buffered.lines.length;
    const [only] = group;
    if (only && only.operation !== "embeddings") return this.#runImage(only, first);
    await this.#options.pace();
    const merged = this.#kind.merge?.(group) ?? group.map(alone);
    const { results, failure } = await this.#runAll(merged, first);
    for (const kind of ["output", "error"] as const) {
      const found = results.filter(({ isSuccess }) => isSuccess === (kind === "output"));
      if (found.length === 0) continue;
      const joined = joinSmall(found.flatMap(({ chunks }) => chunks));
      for (const chunk of joined) {
        this.#buffered[kind].push(chunk);
        this.#buffered.bytes += chunk.length;
      }
    }
    for (const { isSuccess } of results) this.#buffered.lines.push(isSuccess);
    if (failure) throw failure.error;
    const isLate = this.#options.now() - this.#flushedAt >= flushMs;
    if (isLate || this.#buffered.bytes >= flushBytes) await this.#flush();
  }

  /** `first`: the first line, from 0. Waits for every line in flight, because it is paid for. */
  async #runAll(merged: readonly MergedLines[], first: number): Promise<LeadingResults> {
    const running: Promise<LeadingResults>[] = [];
    let at = first;
    for (const each of merged) {
      const results = this.#runMerged(each, at);
      // Handled below, when all lines have begun.
      ignoreRejection(results);
      running.push(results);
      at += each.lines.length;
      if (running.length % requestsPerTurn === 0 || this.#turns.isDue()) await this.#turns.next();
    }
    const found: FormattedLine[] = [];
    for (const outcome of await Promise.allSettled(running)) {
      if (outcome.status === "rejected")
        return { results: found, failure: { error: outcome.reason } };
      const { results, failure } = outcome.value;
      found.push(...results);
      if (failure) return { results: found, failure };
    }
    return { results: found };
  }

  /** If the merged request fails, each of its lines is sent by itself. */
  async #runMerged({ lines, merged }: MergedLines, first: number): Promise<LeadingResults> {
    const [only] = lines as [JobLine];
    const result = await this.#run(merged ?? only, first);
    const results = merged ? await resultsOfLines(result, lines.length) : [result];
    if (!results) return this.#runAll(lines.map(alone), first);
    for (const line of lines) this.#release(line);
    if (merged) await nextTurn();
    const formatted: FormattedLine[] = [];
    for (const [at, line] of lines.entries())
      formatted.push(await this.#read(line, results[at] as LineResult));
    return { results: formatted };
  }

  /** `at`: the line of the range, from 0. */
  #run(line: JobLine, at: number): Promise<LineResult> {
    const intent = at === this.#range.settled ? this.#range.intent : null;
    return this.#options.attempts.run({
      kind: this.#kind,
      range: this.#range,
      claim: this.#claim,
      line,
      at,
      intent,
      onCost: (dollars) => {
        this.#cost = (this.#cost ?? 0) + dollars;
        this.#listCost = (this.#listCost ?? 0) + dollars / (line.vendor?.priceFactor ?? 1);
      },
    });
  }

  async #runImage(line: JobLine, at: number): Promise<void> {
    const result = await this.#run(line, at);
    this.#release(line);
    try {
      await this.#store(line, at, result);
    } catch (error) {
      if (error instanceof Stopped) throw error;
      // The image is lost, and the reason is stored, if there is space for it.
      const lost = withBillingWarning(toGatewayError(error, undefined));
      await this.#store(line, at, { kind: "none", error: lost });
    } finally {
      if (result.kind === "response") await result.close();
    }
  }

  async #store(line: JobLine, at: number, result: LineResult): Promise<void> {
    const isSuccess = isSuccessful(result);
    const segment = await this.#write(at, isSuccess ? "output" : "error", () =>
      chunksOf(this.#kind.format(line, result)),
    );
    await this.#settle([isSuccess], segment.bytes, segment.remove);
  }

  async #read(line: JobLine, result: LineResult): Promise<FormattedLine> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of chunksOf(this.#kind.format(line, result))) {
      chunks.push(copyOf(chunk));
      if (this.#turns.isDue(chunk.length)) await this.#turns.next();
    }
    if (result.kind === "response") await result.close();
    return { isSuccess: isSuccessful(result), chunks };
  }

  async *#inTurns(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) {
      yield chunk;
      if (this.#turns.isDue(chunk.length)) await this.#turns.next();
    }
  }

  /** Writes and settles the results in memory. */
  async #flush(): Promise<void> {
    const { output, error, lines } = this.#buffered;
    this.#flushedAt = this.#options.now();
    if (lines.length === 0) return;
    this.#buffered = empty();
    const written: WrittenSegment[] = [];
    for (const [kind, chunks] of [
      ["output", output],
      ["error", error],
    ] as const) {
      if (chunks.length > 0)
        written.push(await this.#write(this.#settled, kind, () => this.#inTurns(chunks)));
    }
    const bytes = written.reduce((sum, segment) => sum + segment.bytes, 0);
    await this.#settle(lines, bytes, async () => {
      for (const { remove } of written) await remove();
    });
  }

  /** Writes a segment. */
  async #write(
    at: number,
    kind: SegmentKind,
    open: () => AsyncIterable<BorrowedBytes> | Iterable<BorrowedBytes>,
  ): Promise<WrittenSegment> {
    const { files, stopping } = this.#options;
    const line = this.#range.firstLine + at;
    const write = () => writeSegment(files, this.#range, line, kind, open());
    try {
      const segment = await retryStorage(this.#options, write);
      this.#isLost = false;
      return segment;
    } catch (error) {
      this.#isLost = !stopping.aborted;
      throw error;
    }
  }

  async #flushBeforeEnd(): Promise<void> {
    try {
      await this.#flush();
    } catch {
      // Another process, or the next one, repeats these lines.
    }
  }

  async #settle(
    lines: readonly boolean[],
    bytes: number,
    undo: () => Promise<void>,
  ): Promise<void> {
    const { store, now } = this.#options;
    const completed = lines.filter(Boolean).length;
    const failed = lines.length - completed;
    const counts = {
      from: this.#settled,
      completed,
      failed,
      bytes,
      cost: this.#cost,
      listCost: this.#listCost,
      reserved: this.#reserved,
      now: now(),
    };
    let calls = 0;
    const settle = (): Promise<boolean> => {
      calls++;
      return store.settle(this.#claim, counts);
    };
    if (!(await this.#change(() => retryStorage(this.#options, settle)))) {
      // A call that failed may have settled them.
      if (calls === 1) await undo();
      throw new Stopped();
    }
    this.#settled += lines.length;
    this.#cost = null;
    this.#listCost = null;
  }

  /** If the database is not available, what it did not change is found when the range is claimed again. */
  async #change(change: () => Promise<boolean>): Promise<boolean> {
    try {
      return await change();
    } catch (error) {
      this.#unsettled = { error };
      throw new Stopped();
    }
  }
}

const readAgainMs = 10_000;

/** Interactive requests are served after this many requests have begun, or after the time of a step. */
const requestsPerTurn = 8;

const alone = (line: JobLine): MergedLines => ({ lines: [line] });

/** A line of the results. */
interface FormattedLine {
  readonly isSuccess: boolean;
  readonly chunks: readonly Uint8Array[];
}

/** The results in the order of the lines, up to the first line without a result, and why it has none. */
interface LeadingResults {
  readonly results: readonly FormattedLine[];
  readonly failure?: { readonly error: unknown };
}

const empty = () => ({ output: [], error: [], bytes: 0, lines: [] });

const incompleteInput = (): GatewayError =>
  new GatewayError("job_input_missing", "The input of the job has fewer lines than it had before.");
