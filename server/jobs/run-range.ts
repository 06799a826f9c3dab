/**
 * Runs the lines of a claimed range. Image lines run one after the other, and each is settled at once, because it is
 * paid for. Embedding lines run concurrently and are settled together: after a crash, they are repeated. A method
 * returns a `RangeEnd` if this process is done with the range, and undefined if it continues.
 */
import { type BorrowedBytes, copyOf } from "../lib/borrowed-bytes.ts";
import type { ByteTurns } from "../lib/byte-turns.ts";
import { errorStack } from "../lib/error-code.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Log } from "../lib/log.ts";
import { ignoreRejection, nextTurn } from "../lib/tasks.ts";
import type { Timers } from "../lib/timers.ts";
import type { Turns } from "../lib/turns.ts";
import { toGatewayError } from "../request/error-response.ts";
import { generatesImages } from "../request/operation.ts";
import type { FileStore } from "../storage/ports/file-store.ts";
import type { JobStore } from "../storage/sql/job-store.ts";
import type {
  ClaimedRange,
  LastError,
  LineErrors,
  LineReservation,
  RangeClaim,
  RangeReservation,
  RangeState,
  Wait,
} from "../storage/sql/stored-job.ts";
import { withBillingWarning } from "../upstream/may-have-been-billed.ts";
import { groupLines, isSuccessful, joinSmall, resultsOfLines } from "./group-lines.ts";
import { replacing, withoutLine } from "./job-budget.ts";
import {
  type ChargedLine,
  chunksOf,
  type HeldRange,
  type JobKind,
  type JobLine,
  jobErrorOf,
  type LineResult,
  lastErrorOf,
  type MergedLines,
  type RangeEnd,
  type SegmentKind,
} from "./job-kind.ts";
import { deliveryMs, type LineAttempts, type LineEnd } from "./line-attempts.ts";
import { removeUnsettled, type WrittenSegment, writeSegment } from "./segments.ts";
import { type Pace, retryAt, retryStorage } from "./waits.ts";

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
  readonly log: Pick<Log, "error">;
  /** A line was charged: that much is still reserved for the range. */
  readonly onCharged: (range: ClaimedRange, reserved: RangeReservation) => void;
}

/** Results in memory are written when they have this size, or after this time: a crash loses no more. */
const flushBytes = 8 * 1024 * 1024;
const flushMs = 5000;
/**
 * The shortest wait before a range is claimed again after an error: its unsettled lines are sent, and billed, again.
 */
const minWaitMs = 10_000;
/** How often the row shows that lines wait: many of them may fail at the same time. */
const showWaitMs = 1000;
/** Interactive requests are served after this many requests have begun, or after the time of a step. */
const requestsPerTurn = 8;

const stopped: RangeEnd = { kind: "stopped" };

export class RangeRun implements HeldRange {
  readonly #options: RunRangeOptions;
  readonly #kind: JobKind;
  readonly #claim: RangeClaim;
  /** For lines and results, which may have many megabytes. */
  readonly #turns: Turns;
  /** As it was claimed: another line than its first was not sent by an earlier process. */
  readonly #claimed: ClaimedRange;
  #range: ClaimedRange;
  #flushedAt: number;
  #shownAt = 0;
  /** Of lines that are not settled yet. The costs are in US dollars; null: unknown. */
  #unsettled = nothing();

  constructor(options: RunRangeOptions, kind: JobKind, range: ClaimedRange, claim: RangeClaim) {
    this.#options = options;
    this.#kind = kind;
    this.#range = range;
    this.#claimed = range;
    this.#claim = claim;
    this.#turns = options.byteTurns.steps(range.job.owner);
    this.#flushedAt = options.now();
  }

  get range(): ClaimedRange {
    return this.#range;
  }

  async record(change: Partial<RangeState>): Promise<boolean> {
    const { store, now } = this.#options;
    const { phase = this.#range.phase, reserved } = change;
    const isVendors = phase !== "lines" && phase !== "refused";
    const before = this.#range.reserved;
    const left = reserved ? replacing(before, reserved) : before;
    this.#range = {
      ...this.#range,
      ...(change.phase && { phaseSince: now() }),
      ...change,
      reserved: isVendors ? left : null,
    };
    try {
      return await store.recordState(this.#claim, this.#range);
    } catch (cause) {
      throw new GatewayError("storage_unavailable", "The job cannot be recorded.", { cause });
    }
  }

  /** Never rejects because of a line, only if the database fails. */
  async run(): Promise<void> {
    const { store, now } = this.#options;
    const ended = await this.#runLines().catch((error: unknown) => this.#endOf(error));
    // What is done is stored, also if the range waits.
    const end = (await this.#flush().catch((error: unknown) => this.#endOf(error))) ?? ended;
    if (end.kind === "failed") await store.fail(this.#range.job.id, jobErrorOf(end.error), now());
    await store.releaseRange(this.#claim, end.kind === "waits" ? end.wait : undefined);
    if (end.kind === "waits" && end.cause !== undefined) throw end.cause;
  }

  async #runLines(): Promise<RangeEnd> {
    const { files } = this.#options;
    if (this.#mayHaveResults) await removeUnsettled(files, this.#range);
    const opened = await this.#kind.open(this);
    if (!("lines" in opened)) return opened;
    for await (const group of groupLines(opened.lines)) {
      const end = await this.#runGroup(group);
      if (end) return end;
    }
    const end = await this.#flush();
    if (end) return end;
    const isDone = this.#range.settled === this.#range.lines;
    return isDone ? { kind: "done" } : { kind: "failed", error: incompleteInput() };
  }

  /**
   * Whether an earlier process may have written results that it did not settle. Until the results of a vendor's batch
   * are delivered, no process writes any.
   */
  get #mayHaveResults(): boolean {
    const { attempts, phase } = this.#range;
    return attempts > 0 && (phase === "lines" || phase === "refused" || phase === "delivering");
  }

  /** If the storage or the database is not available, it may be later, and results of a vendor are paid for. */
  #endOf(thrown: unknown): RangeEnd {
    const error = toGatewayError(thrown, undefined);
    const isUnavailable =
      error.kind === "storage_unavailable" || error.kind === "ledger_unavailable";
    return isUnavailable && this.#options.now() < this.#range.job.deadline + deliveryMs
      ? this.#waits(error, error.cause)
      : this.#failed(error);
  }

  /** Of a bug, the client gets no detail, and the log has the stack trace. */
  #failed(error: GatewayError): RangeEnd {
    if (error.kind === "internal") {
      const thrown = error.cause ?? error;
      this.#options.log.error("internal-error", {
        job: this.#range.job.id,
        error: errorStack(thrown),
      });
    }
    return { kind: "failed", error };
  }

  #waits(error: GatewayError, cause?: unknown): RangeEnd {
    const until = retryAt(this.#range.phaseSince, this.#options.now(), { minMs: minWaitMs });
    return { kind: "waits", wait: { until, error: lastErrorOf(error) }, cause };
  }

  /** The line is charged, or never will be. */
  #release(ofLine: LineReservation | undefined): void {
    const { reserved } = this.#range;
    if (!ofLine || !reserved) return;
    const left = withoutLine(reserved, ofLine);
    this.#range = { ...this.#range, reserved: left };
    this.#options.onCharged(this.#range, left);
  }

  #addCost({ dollars, priceFactor }: LineCost): void {
    if (dollars === undefined) return;
    const { cost, listCost } = this.#unsettled;
    this.#unsettled.cost = (cost ?? 0) + dollars;
    this.#unsettled.listCost = (listCost ?? 0) + dollars / priceFactor;
  }

  async #runGroup(group: readonly JobLine[]): Promise<RangeEnd | undefined> {
    for (const { charged } of group) this.#release(charged?.reserved);
    const first = this.#range.settled + this.#unsettled.lines.length;
    const [only] = group;
    if (only && generatesImages(only.operation)) return this.#runImage(only, first);
    await this.#options.pace();
    const merged = this.#kind.merge?.(group) ?? group.map(alone);
    const { results, end } = await this.#runAll(merged, first);
    for (const { error, chunks, costs } of results) {
      const unsettled = this.#unsettled;
      for (const cost of costs) this.#addCost(cost);
      unsettled.lines.push(error);
      unsettled[error ? "error" : "output"].push(...chunks);
      unsettled.bytes += chunks.reduce((sum, { length }) => sum + length, 0);
    }
    if (end) return end;
    const isLate = this.#options.now() - this.#flushedAt >= flushMs;
    return isLate || this.#unsettled.bytes >= flushBytes ? this.#flush() : undefined;
  }

  /** `first`: the first line, from 0. Waits for every line in flight, because it is paid for. */
  async #runAll(merged: readonly MergedLines[], first: number): Promise<LeadingResults> {
    const running: Promise<LeadingResults>[] = [];
    let at = first;
    for (const each of merged) {
      const results = this.#runMerged(each, at);
      // Handled below, when all lines have begun.
      ignoreRejection(results);
      // The next one may spend what this one has reserved, and does not cost.
      if (each.lines[0]?.isPartlyReserved) await results.catch(() => undefined);
      running.push(results);
      at += each.lines.length;
      if (running.length % requestsPerTurn === 0 || this.#turns.isDue()) await this.#turns.next();
    }
    const found: FormattedLine[] = [];
    for (const outcome of await Promise.allSettled(running)) {
      if (outcome.status === "rejected")
        return { results: found, end: this.#endOf(outcome.reason) };
      const { results, end } = outcome.value;
      found.push(...results);
      if (end) return { results: found, end };
    }
    return { results: found };
  }

  /** If the merged request fails, each of its lines is sent by itself. */
  async #runMerged({ lines, merged }: MergedLines, first: number): Promise<LeadingResults> {
    const [only] = lines as [JobLine];
    const costs: LineCost[] = [];
    const result = await this.#run(merged ?? only, first, costs);
    if (result.kind === "stopped") return { results: [], end: stopped };
    const results = merged ? await resultsOfLines(result, lines.length) : [result];
    if (!results) return this.#runAll(lines.map(alone), first);
    for (const line of lines) this.#release(line.reserved);
    if (merged) await nextTurn();
    const formatted: FormattedLine[] = [];
    for (const [at, line] of lines.entries()) {
      const read = await this.#read(line, results[at] as LineResult);
      formatted.push({ ...read, costs: withCharged(at === 0 ? costs : [], line) });
    }
    return { results: formatted };
  }

  /** `at`: the line of the range, from 0. `costs`: of ledger rows that a second delivery of the line writes again. */
  #run(line: JobLine, at: number, costs: LineCost[]): Promise<LineEnd> {
    const isFirst = at === this.#claimed.settled;
    return this.#options.attempts.run({
      kind: this.#kind,
      range: this.#claimed,
      claim: this.#claim,
      line,
      at,
      earlier: isFirst ? this.#claimed : { sent: 0, upstreamOperations: null },
      onCost: (dollars) => {
        if (line.vendor) costs.push({ dollars, priceFactor: line.vendor.priceFactor });
        else this.#addCost({ dollars, priceFactor: 1 });
      },
      onWait: (wait) => this.#showWait(wait),
    });
  }

  /** For clients that read the job. The lines wait in this process. */
  #showWait(wait: Wait): void {
    const { store, now } = this.#options;
    if (now() < this.#shownAt + showWaitMs) return;
    this.#shownAt = now();
    ignoreRejection(store.recordWait(this.#claim, wait));
  }

  async #runImage(line: JobLine, at: number): Promise<RangeEnd | undefined> {
    const costs: LineCost[] = [];
    const result = await this.#run(line, at, costs);
    if (result.kind === "stopped") return stopped;
    this.#release(line.reserved);
    const all = withCharged(costs, line);
    try {
      const end = await this.#store(line, at, result, all);
      if (end?.kind !== "failed") return end;
      // The image is lost, and the reason is stored, if there is space for it.
      const error = withBillingWarning(end.error);
      return await this.#store(line, at, { kind: "none", error }, all);
    } finally {
      if (result.kind === "response") await result.close();
    }
  }

  async #store(
    line: JobLine,
    at: number,
    result: LineResult,
    costs: readonly LineCost[],
  ): Promise<RangeEnd | undefined> {
    const segment = await this.#write(at, isSuccessful(result) ? "output" : "error", () =>
      chunksOf(this.#kind.format(line, result)),
    );
    if ("kind" in segment) return segment;
    this.#unsettled.lines.push(errorOf(result));
    for (const cost of costs) this.#addCost(cost);
    return this.#settle(segment.bytes, segment.remove);
  }

  async #read(line: JobLine, result: LineResult): Promise<Omit<FormattedLine, "costs">> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of chunksOf(this.#kind.format(line, result))) {
      chunks.push(copyOf(chunk));
      if (this.#turns.isDue(chunk.length)) await this.#turns.next();
    }
    if (result.kind === "response") await result.close();
    return { error: errorOf(result), chunks };
  }

  async *#inTurns(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) {
      yield chunk;
      if (this.#turns.isDue(chunk.length)) await this.#turns.next();
    }
  }

  /** Writes and settles the results in memory. They are not written again if that fails. */
  async #flush(): Promise<RangeEnd | undefined> {
    const { output, error, lines } = this.#unsettled;
    this.#flushedAt = this.#options.now();
    if (lines.length === 0) return undefined;
    const written: WrittenSegment[] = [];
    for (const [kind, chunks] of [
      ["output", output],
      ["error", error],
    ] as const) {
      if (chunks.length === 0) continue;
      const open = () => this.#inTurns(joinSmall(chunks));
      const segment = await this.#write(this.#range.settled, kind, open);
      if ("kind" in segment) {
        this.#unsettled = nothing();
        return segment;
      }
      written.push(segment);
    }
    const bytes = written.reduce((sum, segment) => sum + segment.bytes, 0);
    return this.#settle(bytes, async () => {
      for (const { remove } of written) await remove();
    });
  }

  async #write(
    at: number,
    kind: SegmentKind,
    open: () => AsyncIterable<BorrowedBytes> | Iterable<BorrowedBytes>,
  ): Promise<WrittenSegment | RangeEnd> {
    const { files, stopping } = this.#options;
    const line = this.#range.firstLine + at;
    try {
      return await retryStorage(this.#options, () =>
        writeSegment(files, this.#range, line, kind, open()),
      );
    } catch (cause) {
      if (stopping.aborted) return stopped;
      // The results of a vendor are paid for, and stay at the vendor: they are delivered again.
      const isAtVendor = this.#range.phase === "delivering";
      return isAtVendor ? this.#endOf(cause) : this.#failed(resultsNotStored(cause));
    }
  }

  /** `undo`: deletes the results that were written, because another process has the range. */
  async #settle(bytes: number, undo: () => Promise<void>): Promise<RangeEnd | undefined> {
    const { store, now } = this.#options;
    const { lines, cost, listCost } = this.#unsettled;
    this.#unsettled = nothing();
    const { settled: from, reserved } = this.#range;
    const errors = countErrors(lines);
    const failed = lines.filter((error) => error !== undefined).length;
    const completed = lines.length - failed;
    const counts = { from, completed, failed, bytes, cost, listCost, errors, reserved, now: now() };
    try {
      const settle = () => store.settle(this.#claim, counts);
      if (await retryStorage(this.#options, settle)) {
        this.#range = { ...this.#range, settled: from + lines.length };
        return undefined;
      }
    } catch (cause) {
      const error = new GatewayError("storage_unavailable", "The results cannot be recorded.");
      return this.#waits(error, cause);
    }
    await undo();
    return stopped;
  }
}

const alone = (line: JobLine): MergedLines => ({ lines: [line] });

/** In US dollars; undefined if unknown. `priceFactor`: the part of the usual price that this is. */
type LineCost = Pick<ChargedLine, "dollars" | "priceFactor">;

const withCharged = (costs: readonly LineCost[], { charged }: JobLine): readonly LineCost[] =>
  charged ? [...costs, charged] : costs;

/** A line of the results. `error`: undefined if it succeeded. */
interface FormattedLine {
  /** They count when the result is stored: if it is dropped, the line is delivered again, with the same ledger row. */
  readonly costs: readonly LineCost[];
  readonly error: LastError | undefined;
  readonly chunks: readonly Uint8Array[];
}

/** The results in the order of the lines, up to the first line without a result, and why it has none. */
interface LeadingResults {
  readonly results: readonly FormattedLine[];
  readonly end?: RangeEnd;
}

/** `lines`: the error of each line; undefined if it succeeded. `bytes`: of its results in memory. */
const nothing = () => ({
  output: [] as Uint8Array[],
  error: [] as Uint8Array[],
  bytes: 0,
  lines: [] as (LastError | undefined)[],
  cost: null as number | null,
  listCost: null as number | null,
});

function errorOf(result: LineResult): LastError | undefined {
  if (isSuccessful(result)) return undefined;
  if (result.kind === "none") return lastErrorOf(result.error);
  return result.error ?? { code: String(result.status), message: "" };
}

function countErrors(lines: readonly (LastError | undefined)[]): readonly LineErrors[] {
  const counts = new Map<string, LineErrors>();
  for (const error of lines) {
    if (!error) continue;
    const { count = 0, message = error.message } = counts.get(error.code) ?? {};
    counts.set(error.code, { code: error.code, message, count: count + 1 });
  }
  return [...counts.values()];
}

/** What the lines cost is charged: their ledger rows were written before. */
const resultsNotStored = (cause: unknown): GatewayError =>
  new GatewayError(
    "storage_unavailable",
    "The results of the job could not be stored for a minute and are lost. Its requests are billed: see their ledger rows. Ask the operator of this gateway to check its storage.",
    { cause },
  );

const incompleteInput = (): GatewayError =>
  new GatewayError("job_input_missing", "The input of the job has fewer lines than it had before.");
