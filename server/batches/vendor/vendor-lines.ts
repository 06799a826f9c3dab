/**
 * The lines of a range that the batch of a vendor runs. Read this folder from here.
 *
 * A range of a client's batch becomes one batch of the vendor. The row of the range has its state (`vendor-state.ts`).
 * The runner claims the range again and again, in any process, and each claim takes the next step (`vendor-batch.ts`):
 *
 * 1. No state. Each line passes the stages up to its upstream requests (`plan` of `embedding-stages.ts`). These are the
 *    vendor's input file, and what is needed to read their results is a file beside it (`sent-requests.ts`). The
 *    estimated cost is reserved in all budgets, and the file is uploaded.
 * 2. `uploaded`. From here on, the estimate in the row is reserved by every process (`server/jobs/job-budget.ts`).
 *    `creating`: the batch is created, once. After a crash, or an error that does not say, it is looked up by its name.
 * 3. `created`. The batch is polled, or canceled because the job ends.
 * 4. The batch has ended. Its results are downloaded, and each line runs through the request pipeline, as lines do that
 *    run now, with the vendor's results as responses to what was sent (`send`). So it is verified, cached, charged at
 *    the vendor's price of then, and written to the ledger. Its ledger row has the same id and time in each delivery.
 *
 * 5. The range has ended. Its files at the vendor are deleted (`cleanUp`), if that fails again and again for a day.
 *
 * Lines without a result run now (`cheapest`) or fail (`vendor`). Images that the vendor may have generated always fail.
 */
import type { ChargedLines } from "../../jobs/job-budget.ts";
import { RangeWaits, type RecordVendorBatch } from "../../jobs/job-kind.ts";
import type { ByteTurns } from "../../lib/byte-turns.ts";
import { errorMessage } from "../../lib/error-code.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Log } from "../../lib/log.ts";
import type { ClaimedRange, StoredJob } from "../../storage/sql/stored-job.ts";
import { invalidResponse } from "../../upstream/invalid-response.ts";
import { markMayBeBilled, withBillingWarning } from "../../upstream/may-have-been-billed.ts";
import { type Delivery, ResultLine } from "./result-line.ts";
import { type SentLine, SentRequests } from "./sent-requests.ts";
import {
  type BatchLine,
  cancelMs,
  type Ended,
  fileNamesOf,
  VendorBatch,
  type VendorBatchOptions,
  type VendorTarget,
} from "./vendor-batch.ts";
import { VendorError } from "./vendor-endpoint.ts";
import { download } from "./vendor-files.ts";
import { VendorResults } from "./vendor-results.ts";
import { type Created, filesOf, readState, type VendorState } from "./vendor-state.ts";

interface VendorLinesOptions extends VendorBatchOptions {
  /** Undefined: the upstream was deleted, or has no batches any more. */
  readonly targetOf: (job: StoredJob) => VendorTarget | undefined;
  /** Throws GatewayError if the API key or the model is gone, or if the model has another upstream. */
  readonly payerOf: (job: StoredJob) => ChargedLines;
  /** Lines without a result of the vendor run now. False: they fail. */
  readonly runsNow: (job: StoredJob) => boolean;
  readonly notRun: (ending: StoredJob["ending"]) => GatewayError;
  readonly log: Pick<Log, "warn">;
  readonly byteTurns: Pick<ByteTurns, "steps">;
}

/** A process that dies while it reads the results has tried too. */
const maxReadings = 3;

export const createVendorLines = (options: VendorLinesOptions) => ({
  /** `plain`: the lines as they would run now. */
  linesOf: (
    range: ClaimedRange,
    plain: () => AsyncIterable<BatchLine>,
    record: RecordVendorBatch,
  ): AsyncGenerator<BatchLine> => new RangeLines(options, range, plain, record).lines(),
  /**
   * The range has ended, or never will because its job failed: then its batch at the vendor is canceled. Its files at
   * the vendor are deleted. False: something is left there, which the log names. Never rejects.
   */
  cleanUp: async (range: ClaimedRange): Promise<boolean> => {
    const { targetOf, log } = options;
    const { job, settled, lines } = range;
    const state = readState(range.vendorBatch);
    if (!state) return true;
    const at = targetOf(job);
    const batch = at && new VendorBatch(options, range, at, async () => undefined);
    let isClean = true;
    const attempt = async (work: Promise<void> | undefined, event: string, file?: string) => {
      try {
        if (!work) throw new Error("The upstream was deleted, or has no batches any more.");
        await work;
      } catch (error) {
        isClean = false;
        log.warn(event, { job: job.id, ...(file && { file }), reason: errorMessage(error) });
      }
    };
    if (settled < lines) await attempt(batch?.abandon(state), "vendor-batch-not-canceled");
    for (const file of filesOf(state))
      await attempt(batch?.deleteFile(file), "vendor-file-not-deleted", file);
    return isClean;
  },
});

export type VendorLines = ReturnType<typeof createVendorLines>;

class RangeLines {
  readonly #options: VendorLinesOptions;
  readonly #range: ClaimedRange;
  readonly #plain: () => AsyncIterable<BatchLine>;
  readonly #record: RecordVendorBatch;
  /** The vendor may run the lines. */
  #isSent: boolean;

  constructor(
    options: VendorLinesOptions,
    range: ClaimedRange,
    plain: () => AsyncIterable<BatchLine>,
    record: RecordVendorBatch,
  ) {
    this.#options = options;
    this.#range = range;
    this.#plain = plain;
    this.#record = record;
    const kind = readState(range.vendorBatch)?.kind;
    this.#isSent = kind === "creating" || kind === "created";
  }

  async *lines(): AsyncGenerator<BatchLine> {
    const { targetOf } = this.#options;
    const { job } = this.#range;
    const before = readState(this.#range.vendorBatch);
    const at = targetOf(job);
    const payer = this.#payer();
    // Nothing was sent, and nothing is, or nothing is known of it: the lines end with the reason.
    const isOver = job.ending !== null && (!before || this.#isOverdue(before));
    // What was sent is delivered, also if the model has another upstream now.
    const isChanged = payer instanceof GatewayError && payer.kind === "vendor_batch_failed";
    if (isChanged && at && before?.kind === "created") return yield* this.#continue(at, before);
    if (isOver || !at || payer instanceof GatewayError) {
      if (at && before) await this.#abandon(at, before);
      return yield* this.#unsent(at, payer);
    }
    yield* this.#continue(at, before, payer);
  }

  /** `payer`: needed until the batch is created. */
  async *#continue(
    at: VendorTarget,
    before: VendorState | undefined,
    payer?: ChargedLines,
  ): AsyncGenerator<BatchLine> {
    const batch = new VendorBatch(this.#options, this.#range, at, this.#record);
    const step = await batch.advance(before, payer, this.#plain);
    if (step.kind === "results") return yield* this.#results(batch, at, step);
    if (step.kind === "refused") yield* this.#failed(step.reason);
    else yield* this.#plain();
  }

  #payer(): ChargedLines | GatewayError {
    try {
      return this.#options.payerOf(this.#range.job);
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    }
  }

  async #abandon(at: VendorTarget, before: VendorState): Promise<void> {
    const batch = new VendorBatch(this.#options, this.#range, at, this.#record);
    try {
      await batch.abandon(before);
    } catch (error) {
      const isLate = this.#options.now() > this.#range.job.deadline + cancelMs;
      if (isLate && (error instanceof VendorError || error instanceof RangeWaits)) return;
      throw error instanceof VendorError ? batch.tryAgain(error) : error;
    }
  }

  /** It is not known whether the batch was created, and the job ended long ago. */
  #isOverdue({ kind }: VendorState): boolean {
    const { cancellingAt, deadline } = this.#range.job;
    return kind === "creating" && this.#options.now() > (cancellingAt ?? deadline) + cancelMs;
  }

  /** The lines of a revoked key, or of a deleted model, fail with the reason when they run. */
  async *#unsent(
    at: VendorTarget | undefined,
    payer: ChargedLines | GatewayError,
  ): AsyncGenerator<BatchLine> {
    const isOfAnother = payer instanceof GatewayError && payer.kind === "vendor_batch_failed";
    if (!at || isOfAnother) yield* this.#failed("the model has no upstream with batches any more");
    else yield* this.#plain();
  }

  async *#failed(reason: string): AsyncGenerator<BatchLine> {
    for await (const line of this.#plain())
      yield this.#mayRun ? line : { ...line, failure: failedError(reason) };
  }

  /** A line without a result of the vendor runs now, or ends because the job ends. */
  get #mayRun(): boolean {
    const { job } = this.#range;
    return job.ending !== null || (this.#options.runsNow(job) && !this.#maySpendTwice);
  }

  /** An image that the vendor may have generated is not generated again. */
  get #maySpendTwice(): boolean {
    return this.#isSent && this.#range.job.endpoint !== "/v1/embeddings";
  }

  async *#results(
    batch: VendorBatch,
    at: VendorTarget,
    { sent, status }: { readonly sent: Created; readonly status: Ended },
  ): AsyncGenerator<BatchLine> {
    this.#isSent = true;
    const ended = batch.ended(sent, status);
    const results = await this.#openResults(batch, at, ended, status);
    const { files, byteTurns } = this.#options;
    const { job } = this.#range;
    const { requests: name } = fileNamesOf(this.#range);
    const requests = await SentRequests.open(files, name, byteTurns.steps(job.owner)).catch(
      (error: Error) => {
        throw batch.tryAgain(error);
      },
    );
    const { upstream } = at.target;
    const delivery = { ...requests.sentTo, upstream, at: ended.endedAt, api: at.api, results };
    try {
      for await (const line of this.#plain()) {
        const found = await requests.find(line.number);
        if (!found) yield line;
        else if (found instanceof GatewayError) yield { ...line, failure: found };
        else yield this.#deliver(line, found, delivery, status);
      }
    } finally {
      await requests.close();
    }
  }

  #deliver(line: BatchLine, sent: SentLine, delivery: Delivery, status: Ended): BatchLine {
    const { number, nanos, labels } = sent;
    const reserved = nanos === null ? {} : { reserved: { nanos, labels } };
    if (delivery.results.has(number))
      return { ...line, ...reserved, vendor: new ResultLine(delivery, sent) };
    if (this.#mayRun) return { ...line, ...reserved };
    return { ...line, ...reserved, failure: this.#missing(status) };
  }

  async #openResults(
    batch: VendorBatch,
    { api, endpoint }: VendorTarget,
    sent: Created,
    { files: fileIds }: Ended,
  ): Promise<VendorResults> {
    const { files, now, byteTurns } = this.#options;
    const { job } = this.#range;
    const { readings = 0 } = sent;
    if (readings >= maxReadings)
      throw failedError(`its results could not be read in ${maxReadings} attempts`);
    const { results: name } = fileNamesOf(this.#range);
    const open = () => download(api, endpoint, fileIds);
    await batch.setReadings(sent, readings + 1);
    try {
      const results = await VendorResults.open(files, name, api, open, byteTurns.steps(job.owner));
      await batch.setReadings(sent, 0);
      return results;
    } catch (error) {
      if (isUnavailable(error)) await batch.setReadings(sent, readings);
      const isExternal = error instanceof VendorError || error instanceof GatewayError;
      if (isExternal && now() < job.deadline + cancelMs) throw batch.tryAgain(error);
      throw error instanceof VendorError ? failedError(error.message) : error;
    }
  }

  #missing({ outcome, reason }: Ended): GatewayError {
    if (outcome === "completed") {
      const error = invalidResponse("the vendor's batch has no result for this line");
      return this.#maySpendTwice
        ? withBillingWarning(markMayBeBilled(error) as GatewayError)
        : error;
    }
    if (outcome === "expired") return this.#options.notRun("expired");
    return failedError(reason ?? `it was ${outcome}`);
  }
}

/** The vendor or the storage does not respond, which says nothing about the results. */
const isUnavailable = (error: unknown): boolean =>
  error instanceof VendorError ||
  (error instanceof GatewayError && error.kind === "storage_unavailable");

const failedError = (reason: string): GatewayError =>
  new GatewayError("vendor_batch_failed", `The batch at the vendor failed: ${reason}`);
