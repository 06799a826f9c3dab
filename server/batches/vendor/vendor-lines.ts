/**
 * The lines of a range that the batch of a vendor runs. Read this folder from here.
 *
 * A range of a client's batch becomes one batch of the vendor. The row of the range has its phase, and the runner
 * claims the range again and again, in any process. Each claim takes the next steps (`server/jobs/next-step.ts`,
 * `vendor-batch.ts`):
 *
 * 1. `planned`. Each line passes the stages up to its upstream requests (`plan` of `stages.ts`). These are the
 *    vendor's input file, and what is needed to read their results is a file beside it (`sent-requests.ts`).
 * 2. `uploaded`. The vendor has the file. `creating`: the batch is created, once. After a crash, or an error that does
 *    not say, it is looked up by its name.
 * 3. `created`. The batch is polled. `canceling`: it is canceled because the job ends, or its API key was revoked.
 * 4. `delivering`. Its results are downloaded, and each line runs through the request pipeline, as lines do that run
 *    now, with the vendor's results as responses to what was sent (`send`). So it is verified, cached, charged at the
 *    vendor's price of then, and written to the ledger.
 * 5. The range has ended. Its files at the vendor are deleted, if that fails again and again for a day (`cleanUp`).
 *
 * Lines without a result run now (`cheapest`) or fail (`vendor`). Images that the vendor may have generated always
 * fail.
 *
 * Where the dollars of a line are, by the phase of its range:
 *
 * - `planned`: nowhere. While the file is written and uploaded, the most that the lines may cost is open in this process.
 * - `uploaded` to `canceling`: open, in the column `reserved` of the range, which every process reserves
 *   (`server/jobs/job-budget.ts`).
 * - `delivering`: line by line out of `reserved` and into the ledger row of the line, whose id and time are the same in
 *   each delivery. The row has the cost of the result, or the estimate that was sent with the line if there is no
 *   result and the vendor may bill it all the same (`charge-without-result.ts`). That is so if a completed batch has
 *   no result for the line, if its result cannot be delivered, and for all lines of a batch that is given up (`giveUp`
 *   of `vendor-batch.ts`): the vendor does not know it any more or does not end it, its upstream or the model was
 *   deleted, or nobody can read its results. If the job fails, `chargeRest` does the same. Otherwise the vendor bills nothing for the line.
 * - `refused`, `lines`: nowhere, until the line runs as a request.
 */
import type { ChargedLines } from "../../jobs/job-budget.ts";
import type { ChargedLine, HeldRange, JobKind, RangeEnd } from "../../jobs/job-kind.ts";
import { cancelMs, maxReadings, nextStep, type Step } from "../../jobs/next-step.ts";
import type { ByteTurns } from "../../lib/byte-turns.ts";
import { errorMessage } from "../../lib/error-code.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Log } from "../../lib/log.ts";
import { toDollars } from "../../lib/nano-dollars.ts";
import { generatesImages } from "../../request/operation.ts";
import type {
  ClaimedRange,
  LineReservation,
  RangePhase,
  StoredJob,
} from "../../storage/sql/stored-job.ts";
import { invalidResponse } from "../../upstream/invalid-response.ts";
import { markMayBeBilled, withBillingWarning } from "../../upstream/may-have-been-billed.ts";
import { operationOf } from "../batches.ts";
import type { ChargeWithoutResult } from "./charge-without-result.ts";
import { reservedFor, type SentLine, SentRequests } from "./sent-requests.ts";
import { VendorError } from "./vendor-api.ts";
import {
  type BatchLine,
  delayed,
  type Ended,
  fileNamesOf,
  giveUp,
  storedBatchOf,
  type VendorAnswer,
  VendorBatch,
  type VendorBatchOptions,
  type VendorTarget,
  vendorFilesOf,
} from "./vendor-batch.ts";
import { type Delivery, download, ResultLine, VendorResults } from "./vendor-results.ts";

interface VendorLinesOptions extends VendorBatchOptions {
  /** Undefined if the upstream was deleted, or has no batches any more. */
  readonly targetOf: (job: StoredJob) => VendorTarget | undefined;
  /** Throws GatewayError if the API key or the model is gone, or if the model has another upstream. */
  readonly payerOf: (job: StoredJob) => ChargedLines;
  /** Lines without a result of the vendor run now. False: they fail. */
  readonly runsNow: (job: StoredJob) => boolean;
  readonly notRun: (ending: StoredJob["ending"]) => GatewayError;
  readonly chargeWithoutResult: ChargeWithoutResult;
  readonly log: Pick<Log, "warn">;
  readonly byteTurns: Pick<ByteTurns, "steps">;
}

type Opened = Awaited<ReturnType<JobKind["open"]>>;

export const createVendorLines = (options: VendorLinesOptions) => ({
  /** `plain`: the lines as they would run now. */
  open: (held: HeldRange, plain: () => AsyncIterable<BatchLine>): Promise<Opened> =>
    new OpenedRange(options, held, plain).open(),
  /**
   * The job failed, so the results of its other ranges are not awaited. Returns the estimates of their lines, in US
   * dollars, also of those that an earlier call has charged. Undefined if none is known.
   */
  chargeRest: async (range: ClaimedRange): Promise<number | undefined> => {
    const { files, byteTurns, chargeWithoutResult } = options;
    const { job, phase, phaseSince } = range;
    if (!isAtVendor(phase)) return undefined;
    const { requests: name } = fileNamesOf(range);
    const requests = await SentRequests.open(files, name, byteTurns.steps(job.owner));
    const { sentTo } = requests;
    // Lines that were delivered have the time of the phase in their ledger rows.
    const at = phase === "delivering" ? phaseSince : (job.finalizingAt ?? phaseSince);
    const error = failedError("its job failed");
    let nanos: number | undefined;
    try {
      for await (const sent of unsettledLines(range, requests)) {
        await chargeWithoutResult({ job, at, sent, sentTo, error });
        if (sent.nanos !== null) nanos = (nanos ?? 0) + sent.nanos;
      }
      return nanos === undefined ? undefined : toDollars(nanos);
    } finally {
      await requests.close();
    }
  },
  /**
   * The range has ended, or never will because its job failed: then its batch at the vendor is canceled. Its files at
   * the vendor are deleted. False: something is left there, which the log names. Never rejects.
   */
  cleanUp: async (range: ClaimedRange): Promise<boolean> => {
    const { targetOf, log } = options;
    const { job, settled, lines } = range;
    const at = targetOf(job);
    const batch = at && new VendorBatch(options, { range, record: async () => true }, at);
    let isClean = true;
    /** Undefined if it is done. */
    const failureOf = async (work: () => Promise<unknown> | undefined) => {
      try {
        if (!batch) throw new Error("The upstream was deleted, or has no batches any more.");
        await work();
        return undefined;
      } catch (error) {
        isClean = false;
        return errorMessage(error);
      }
    };
    if (settled < lines && storedBatchOf(range).sent) {
      const reason = await failureOf(async () => {
        if (!(await batch?.cancelAfterEnd()))
          throw new Error("The vendor does not say that it has ended.");
      });
      if (reason) log.warn("vendor-batch-not-canceled", { job: job.id, reason });
    }
    for (const file of vendorFilesOf(range)) {
      const reason = await failureOf(() => batch?.deleteFile(file));
      if (reason) log.warn("vendor-file-not-deleted", { job: job.id, file, reason });
    }
    return isClean;
  },
});

export type VendorLines = ReturnType<typeof createVendorLines>;

async function* unsettledLines(
  { firstLine, settled, lines }: ClaimedRange,
  requests: Pick<SentRequests, "find">,
): AsyncGenerator<SentLine> {
  for (let number = firstLine + settled; number < firstLine + lines; number++) {
    const sent = await requests.find(number);
    if (sent && !(sent instanceof GatewayError)) yield sent;
  }
}

class OpenedRange {
  readonly #options: VendorLinesOptions;
  readonly #held: HeldRange;
  readonly #plain: () => AsyncIterable<BatchLine>;

  constructor(options: VendorLinesOptions, held: HeldRange, plain: () => AsyncIterable<BatchLine>) {
    this.#options = options;
    this.#held = held;
    this.#plain = plain;
  }

  async open(): Promise<Opened> {
    const { targetOf, now } = this.#options;
    const at = targetOf(this.#job);
    const payer = this.#payer();
    const around = { hasVendor: at !== undefined, payer: stateOf(payer) };
    let answer: VendorAnswer | undefined;
    for (;;) {
      const step = nextStep(this.#held.range, { ...around, answer, now: now() });
      if (step === "run") return { lines: this.#plain() };
      if (step === "charge") return { lines: this.#withoutResults(payer) };
      if (step === "fail") return { lines: this.#failed() };
      const taken = await this.#take(step, at, payer, answer);
      if (taken && isOpened(taken)) return taken;
      // An answer is about the phase in which it came.
      answer = taken;
    }
  }

  /** Undefined if the next step follows. */
  async #take(
    step: Exclude<Step, "run" | "charge" | "fail">,
    at: VendorTarget | undefined,
    payer: ChargedLines | GatewayError,
    answer: VendorAnswer | undefined,
  ): Promise<Opened | VendorAnswer | undefined> {
    if (step === "refuse")
      return (await this.#held.record({ phase: "refused" })) ? undefined : stopped;
    if (step === "waitForConfiguration")
      return delayed(
        this.#held.range,
        at && payer instanceof GatewayError ? payer : failedError(noUpstream),
        this.#options,
      );
    if (step === "giveUp" || !at) return this.#giveUp(this.#reasonOf(at, payer, answer));
    const batch = new VendorBatch(this.#options, this.#held, at);
    switch (step) {
      case "upload":
        return batch.upload(payer as ChargedLines, this.#plain);
      case "adopt":
        return batch.adopt(idIn(answer) ?? "");
      case "abandon":
        return batch.abandon(idIn(answer));
      case "createLater":
        return batch.createLater(answer as Ended);
      case "end":
        return batch.end(answer as Ended);
      case "wait":
        return batch.wait(answer as VendorAnswer);
      case "deliver":
        return this.#deliver(batch, at, payer);
      default:
        return batch[step]();
    }
  }

  #giveUp(reason: string): Promise<RangeEnd | undefined> {
    return giveUp(this.#held, reason, this.#options.log);
  }

  /** Why the results of the batch are not awaited any more. */
  #reasonOf(
    at: VendorTarget | undefined,
    payer: ChargedLines | GatewayError,
    answer: VendorAnswer | undefined,
  ): string {
    if (!at) return noUpstream;
    if (answer?.kind === "unknown")
      return `the vendor does not know it any more: ${answer.error.message}`;
    if (answer?.kind === "canceling" && !answer.error) return messageOf(payer);
    return this.#held.range.phase === "canceling"
      ? "the vendor did not end it in 15 minutes after it was canceled"
      : "the vendor did not say whether it was created";
  }

  get #job(): StoredJob {
    return this.#held.range.job;
  }

  #payer(): ChargedLines | GatewayError {
    try {
      return this.#options.payerOf(this.#job);
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    }
  }

  async *#failed(): AsyncGenerator<BatchLine> {
    const { refusal = "the model has no upstream with batches any more" } = storedBatchOf(
      this.#held.range,
    );
    for await (const line of this.#plain())
      yield this.#mayRun ? line : { ...line, failure: failedError(refusal) };
  }

  /** A line without a result of the vendor runs now, or ends because the job ends. */
  get #mayRun(): boolean {
    const { ending } = this.#job;
    return ending !== null || (this.#options.runsNow(this.#job) && !this.#maySpendTwice);
  }

  /** An image that the vendor may have generated is not generated again. */
  get #maySpendTwice(): boolean {
    return isAtVendor(this.#held.range.phase) && generatesImages(operationOf(this.#job));
  }

  async #deliver(
    batch: VendorBatch,
    at: VendorTarget,
    payer: ChargedLines | GatewayError,
  ): Promise<Opened | undefined> {
    const { files, now, byteTurns } = this.#options;
    // Why the API key cannot pay for more.
    const revoked = revocationOf(payer);
    const { readings } = this.#held.range;
    const { end } = storedBatchOf(this.#held.range).sent ?? {};
    const names = fileNamesOf(this.#held.range);
    if (!end) throw new GatewayError("internal", "The vendor's batch has not ended.");
    const open = () => download(at.api, at.endpoint, end.files);
    const turns = byteTurns.steps(this.#job.owner);
    if (!(await this.#held.record({ readings: readings + 1 }))) return stopped;
    try {
      const results = await VendorResults.open(files, names.results, at.api, open, turns);
      const isHeld = await this.#held.record({ readings: 0 });
      if (!isHeld) return stopped;
      const requests = await SentRequests.open(files, names.requests, turns);
      if (end.outcome !== "completed" && !(await this.#recordRunsNow())) return stopped;
      return { lines: this.#delivered(at, results, requests, end, revoked) };
    } catch (error) {
      // The vendor or the storage does not respond, which says nothing about the results.
      if (isUnavailable(error)) await this.#held.record({ readings });
      const isExternal = error instanceof VendorError || error instanceof GatewayError;
      if (isExternal && now() < this.#job.deadline + cancelMs) return batch.tryAgain(error);
      if (error instanceof VendorError) return this.#giveUp(error.message);
      throw error;
    }
  }

  /** Budgets that have reserved the likely cost of the range admit those of its lines. False: another process has it. */
  async #recordRunsNow(): Promise<boolean> {
    const { reserved } = this.#held.range;
    if (!reserved?.isLikely || reserved.runsNow) return true;
    if (!(await this.#held.record({ reserved: { ...reserved, runsNow: true } }))) return false;
    await this.#options.budget.refresh();
    return true;
  }

  /** The batch was given up. The vendor may bill each line that was sent. */
  async *#withoutResults(payer: ChargedLines | GatewayError): AsyncGenerator<BatchLine> {
    const { files, byteTurns } = this.#options;
    const { requests: name } = fileNamesOf(this.#held.range);
    const requests = await SentRequests.open(files, name, byteTurns.steps(this.#job.owner));
    const {
      sent: {
        end: { reason = `its results could not be read in ${maxReadings} attempts` } = {},
      } = {},
    } = storedBatchOf(this.#held.range);
    const failure = failedError(reason);
    const isPayerGone = payer instanceof GatewayError && stateOf(payer) !== "moved";
    // It fails with the reason why the API key cannot pay for it.
    const mayRun = this.#mayRun || (isPayerGone && !this.#maySpendTwice);
    yield* this.#sentLines(requests, async (line, sent) => {
      const charged = await this.#charge(sent, requests, failure);
      return mayRun ? { ...line, charged } : { ...line, charged, failure };
    });
  }

  /** Lines that were not sent run now, or fail with the reason. */
  async *#sentLines(
    requests: SentRequests,
    endOf: (line: BatchLine, sent: SentLine) => Promise<BatchLine>,
  ): AsyncGenerator<BatchLine> {
    try {
      for await (const line of this.#plain()) {
        const found = await requests.find(line.number);
        if (found instanceof GatewayError) yield { ...line, failure: found };
        else yield found ? await endOf(line, found) : line;
      }
    } finally {
      await requests.close();
    }
  }

  /** The vendor may bill the line, and there is no result. */
  async #charge(
    sent: SentLine,
    { sentTo }: Pick<SentRequests, "sentTo">,
    error: GatewayError,
  ): Promise<ChargedLine> {
    const { phaseSince: at } = this.#held.range;
    await this.#options.chargeWithoutResult({ job: this.#job, at, sent, sentTo, error });
    const { nanos } = sent;
    return {
      dollars: nanos === null ? undefined : toDollars(nanos),
      priceFactor: sentTo.priceFactor,
      reserved: this.#reservedFor(sent),
    };
  }

  #reservedFor(sent: SentLine): LineReservation | undefined {
    return reservedFor(sent, this.#held.range.reserved?.isLikely === true);
  }

  #delivered(
    { api, target: { upstream } }: VendorTarget,
    results: VendorResults,
    requests: SentRequests,
    end: Ended,
    revoked: GatewayError | undefined,
  ): AsyncGenerator<BatchLine> {
    const at = this.#held.range.phaseSince;
    // A batch that was canceled for the API key: the other lines name the reason.
    const failure = end.outcome === "cancelled" ? revoked : undefined;
    const delivery: Delivery = {
      ...{ ...requests.sentTo, upstream, at, api, results },
      chargeEstimate: async (sent, error) => (await this.#charge(sent, requests, error)).dollars,
    };
    return this.#sentLines(requests, async (line, sent) => {
      const ended = await this.#withResult(line, sent, delivery, end);
      return failure && !ended.vendor ? { ...ended, failure } : ended;
    });
  }

  async #withResult(
    line: BatchLine,
    sent: SentLine,
    delivery: Delivery,
    end: Ended,
  ): Promise<BatchLine> {
    const ofLine = this.#reservedFor(sent);
    const reserved = ofLine && { reserved: ofLine };
    if (delivery.results.has(sent.number))
      return { ...line, ...reserved, vendor: new ResultLine(delivery, sent) };
    const failure = this.#missing(end);
    // Of a batch that ended early, vendors bill the lines with a result.
    if (end.outcome === "completed") {
      const charged = await this.#charge(sent, { sentTo: delivery }, failure);
      return this.#mayRun ? { ...line, charged } : { ...line, charged, failure };
    }
    if (this.#mayRun) return { ...line, ...reserved, ...(reserved && { isPartlyReserved: true }) };
    return { ...line, ...reserved, failure };
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

const stopped: RangeEnd = { kind: "stopped" };
const noUpstream = "its upstream was deleted, or has no batches any more";

const isOpened = (taken: Opened | VendorAnswer): taken is Opened =>
  "lines" in taken || ["done", "stopped", "waits", "failed"].includes(taken.kind);

const idIn = (answer: VendorAnswer | undefined): string | undefined =>
  answer?.kind === "found" ? answer.id : undefined;

function stateOf(payer: ChargedLines | GatewayError): "present" | "moved" | "revoked" | "gone" {
  if (!(payer instanceof GatewayError)) return "present";
  if (payer.kind === "invalid_api_key") return "revoked";
  return payer.kind === "vendor_batch_failed" ? "moved" : "gone";
}

/** Its lines are at the vendor, or may be. */
const isAtVendor = (phase: RangePhase): boolean =>
  phase === "creating" || phase === "created" || phase === "canceling" || phase === "delivering";

const isUnavailable = (error: unknown): boolean =>
  error instanceof VendorError ||
  (error instanceof GatewayError && error.kind === "storage_unavailable");

const revocationOf = (payer: ChargedLines | GatewayError): GatewayError | undefined =>
  stateOf(payer) === "revoked" ? (payer as GatewayError) : undefined;

const messageOf = (payer: ChargedLines | GatewayError): string =>
  payer instanceof GatewayError ? payer.message : "the model has another upstream";

const failedError = (reason: string): GatewayError =>
  new GatewayError("vendor_batch_failed", `The batch at the vendor failed: ${reason}`);
