/**
 * Runs one line until it has a result. A line that was refused for a limit, or because an upstream was down, is tried
 * again until the deadline of its job. Each attempt looks the API key up again: a revoked key sends nothing.
 */
import type { ErrorKind } from "../../contract/errors.ts";
import { jobLineId } from "../../contract/job-line-id.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { toDollars } from "../lib/nano-dollars.ts";
import { sleep } from "../lib/timers.ts";
import type { Caller } from "../request/caller.ts";
import type { OutgoingResponse } from "../request/http-types.ts";
import { generatesImages } from "../request/operation.ts";
import type { SecretBox } from "../storage/encrypt-secret.ts";
import type { JobStore } from "../storage/sql/job-store.ts";
import type {
  ClaimedRange,
  JobEnding,
  RangeClaim,
  StoredJob,
  Wait,
} from "../storage/sql/stored-job.ts";
import { withBillingWarning } from "../upstream/may-have-been-billed.ts";
import { isSuccessful } from "./group-lines.ts";
import type { JobKind, JobLine, LineResult } from "./job-kind.ts";
import { bodyOf, interruptedError, LineContext, type RunLine } from "./line-request.ts";
import { nextLineStep } from "./next-step.ts";
import { retryDelay } from "./waits.ts";

interface JobControlOptions {
  /** How long lines that are sent may go on when the job ends. */
  readonly inFlightMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/**
 * A job of which this process runs a range: whether it is ending, and the signals that end its lines. A line that is
 * sent when its job ends may go on for a while, because it is paid for.
 */
export class JobControl {
  readonly #options: JobControlOptions;
  #job: StoredJob;
  readonly #ending = new AbortController();
  readonly #inFlightEnd = new AbortController();
  /** Ranges of the job that this process runs. */
  claims = 0;

  constructor(job: StoredJob, options: JobControlOptions) {
    this.#options = options;
    this.#job = job;
    this.update(job);
  }

  get job(): StoredJob {
    return this.#job;
  }

  get ending(): JobEnding | null {
    return this.#job.ending;
  }

  get isPaused(): boolean {
    return this.#job.pausedAt !== null;
  }

  /** Aborted when the job ends early: no other line is sent. */
  get endingSignal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Aborted when the time of lines that were sent before is over. */
  get inFlightSignal(): AbortSignal {
    return this.#inFlightEnd.signal;
  }

  /** To be called again until the job has ended. */
  update(job: StoredJob): void {
    this.#job = job;
    if (job.ending === null) return;
    this.#ending.abort();
    const { inFlightMs, now } = this.#options;
    if (now() >= endedAt(job) + inFlightMs) this.#inFlightEnd.abort();
  }
}

const endedAt = ({ ending, cancellingAt, finalizingAt, deadline }: StoredJob): number => {
  if (ending === "cancelled") return cancellingAt ?? 0;
  return ending === "failed" ? (finalizingAt ?? 0) : deadline;
};

/** `stopped`: the line has no result now, and the range is given back. */
export type LineEnd = LineResult | { readonly kind: "stopped" };

const stopped = { kind: "stopped" } as const;

interface LineAttemptsOptions {
  readonly store: Pick<JobStore, "recordSent">;
  readonly secrets: Pick<SecretBox, "encrypt" | "decrypt">;
  readonly runLine: RunLine;
  /** Throws GatewayError if the API key was revoked or has expired. */
  readonly callerOf: (keyId: string) => Caller;
  /**
   * The API key that is charged for what a vendor has run, or an earlier process has sent, also if it was revoked or has
   * expired meanwhile.
   */
  readonly payerOf: (job: Pick<StoredJob, "keyId" | "owner">) => Caller;
  readonly controlOf: (jobId: string) => JobControl;
  /** The log of reservations for the time after a crash. */
  readonly reservations: { release(requestId: string): void };
  /** Aborted when the gateway stops. */
  readonly stopping: AbortSignal;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Attempts of a line whose upstream fails. Lines that were merged are then sent one by one. */
const maxFailuresOf = ({ inputsOfLines }: JobLine): number => (inputsOfLines ? 1 : 3);
/** A limit may allow the line earlier than the response says. */
const maxRetryMs = 30_000;
/** How long after the deadline the gateway tries to deliver a result of a vendor's batch, which is paid for. */
export const deliveryMs = 3_600_000;

/** One line of a claimed range. */
interface RunningLine {
  readonly kind: JobKind;
  readonly range: ClaimedRange;
  readonly claim: RangeClaim;
  readonly line: JobLine;
  /** The line of the range, from 0. */
  readonly at: number;
  /** What an earlier process has sent of the line. */
  readonly earlier: Pick<ClaimedRange, "sent" | "upstreamOperations">;
  /** The cost of each attempt, in US dollars, if it is known. */
  readonly onCost: (dollars: number) => void;
  /** The line failed, and is tried again. */
  readonly onWait: (wait: Wait) => void;
}

export class LineAttempts {
  readonly #options: LineAttemptsOptions;
  #inFlight = 0;

  constructor(options: LineAttemptsOptions) {
    this.#options = options;
  }

  /** Lines that are requests in the pipeline now. */
  get inFlight(): number {
    return this.#inFlight;
  }

  async run(running: RunningLine): Promise<LineEnd> {
    const end = await this.#attempt(running);
    const { vendor } = running.line;
    if (!vendor || vendor.isFinal || end.kind === "stopped" || isSuccessful(end)) return end;
    // The result is billed, and has no ledger row.
    const dollars = await vendor.chargeEstimate(errorIn(end));
    if (dollars !== undefined) running.onCost(dollars);
    return end;
  }

  async #attempt(running: RunningLine): Promise<LineEnd> {
    const { now } = this.#options;
    let waitedMs = 0;
    for (let failures = 0, attempt = 0; ; attempt++) {
      const unsent = this.#endUnsent(running);
      if (unsent) return unsent;
      const context = this.#contextOf(running, requestIdOf(running, attempt));
      const response = await this.#send(running, context);
      if (response instanceof GatewayError) return none(response);
      const result = this.#resultOf(running, response, context);
      if (result) return result;
      if (isFailure(running, response, context)) failures++;
      const delayMs = this.#delayOf(running, response, { failures, waitedMs });
      if (delayMs === undefined) return resultOf(response, context);
      if (context.wasSent && !(await this.#clearSent(running))) return stopped;
      running.onWait({ until: now() + delayMs, error: context.error ?? null });
      await wait(delayMs, this.#endSignal(running));
      waitedMs += delayMs;
    }
  }

  /** Aborted when the gateway stops, or when the job ends before the line. */
  #endSignal({ line, range }: RunningLine): AbortSignal {
    const { stopping, controlOf } = this.#options;
    return line.vendor
      ? stopping
      : AbortSignal.any([stopping, controlOf(range.job.id).endingSignal]);
  }

  /** Undefined if the line is sent, or what was sent is awaited. */
  #endUnsent({ range, earlier, kind, line }: RunningLine): LineEnd | undefined {
    const { stopping, controlOf } = this.#options;
    const { isPaused, ending, job } = controlOf(range.job.id);
    const isEnding = ending !== null;
    const state = { line, earlier, isStopping: stopping.aborted, isPaused, isEnding };
    switch (nextLineStep(state)) {
      case "send":
        return undefined;
      case "stop":
        return stopped;
      case "fail":
        return line.failure && none(line.failure);
      case "skip":
        return none(kind.notRun(job, false));
      case "interrupted":
        return none(interruptedError());
    }
  }

  /** False: for all that the next process knows, the line may have been billed. */
  async #clearSent({ claim }: RunningLine): Promise<boolean> {
    try {
      return await this.#options.store.recordSent(claim, 0, null);
    } catch {
      return false;
    }
  }

  /** The result of a line that succeeded, or whose job ends. Undefined if it failed. */
  #resultOf(
    { kind, range, line }: RunningLine,
    response: OutgoingResponse,
    context: LineContext,
  ): LineEnd | undefined {
    const { stopping, controlOf } = this.#options;
    if (isSuccess(response)) return resultOf(response, context);
    // Not sent, or polled by the next process.
    if (stopping.aborted && (!context.wasSent || context.isResumable)) return stopped;
    const { ending, job, inFlightSignal } = controlOf(range.job.id);
    if (!ending || line.vendor) return undefined;
    const isImage = generatesImages(line.operation);
    const wasSent = isImage ? context.wasSent : !isRefusedByLimit(response);
    if (wasSent && !inFlightSignal.aborted) return resultOf(response, context);
    const error = kind.notRun(job, wasSent);
    return none(wasSent && isImage ? possiblyBilled(error) : error);
  }

  /** Undefined if the line is not sent again. One that was resumed, or that failed at the vendor, is not. */
  #delayOf(
    { earlier, range, line }: RunningLine,
    response: OutgoingResponse,
    { failures, waitedMs }: { readonly failures: number; readonly waitedMs: number },
  ): number | undefined {
    const isLast = failures >= maxFailuresOf(line) || earlier.sent > 0 || line.vendor?.isFinal;
    const delayMs = isLast ? undefined : delayOf(response, waitedMs);
    const until = range.job.deadline + (line.vendor ? deliveryMs : 0);
    return delayMs !== undefined && this.#options.now() + delayMs < until ? delayMs : undefined;
  }

  async #send(
    { line, range, earlier }: RunningLine,
    context: LineContext,
  ): Promise<OutgoingResponse | GatewayError> {
    const { callerOf, payerOf, runLine, controlOf } = this.#options;
    const { id, keyId } = range.job;
    this.#inFlight++;
    try {
      const caller = line.vendor || earlier.sent > 0 ? payerOf(range.job) : callerOf(keyId);
      const signal = line.vendor
        ? context.signal
        : AbortSignal.any([controlOf(id).inFlightSignal, context.signal]);
      const { requestId } = context;
      return await runLine({ requestId, line, context, signal }, caller);
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    } finally {
      this.#inFlight--;
      context.end();
    }
  }

  #contextOf(
    { kind, range, claim, line, earlier, onCost }: RunningLine,
    requestId: string,
  ): LineContext {
    const { store, secrets, reservations, stopping, controlOf } = this.#options;
    // Embedding lines that have begun take seconds. The vendor has run its lines, and bills them.
    const mayEndUnsent = generatesImages(line.operation) && !line.vendor;
    return new LineContext({
      requestId,
      claim,
      store,
      secrets,
      priority: kind.priority,
      earlier,
      isReserved: line.reserved !== undefined && !line.isPartlyReserved,
      reservedPart: line.isPartlyReserved ? toDollars(line.reserved?.nanos ?? 0) : undefined,
      vendor: line.vendor,
      fingerprint: line.idempotency?.fingerprint,
      onRecorded: () => reservations.release(requestId),
      onCost,
      stopping,
      ending: mayEndUnsent ? controlOf(range.job.id).endingSignal : undefined,
    });
  }
}

/** Each attempt has a ledger row of its own. */
function requestIdOf({ range, line, at }: RunningLine, attempt: number): string {
  const { job, firstLine, attempts } = range;
  const first = firstLine + at;
  // A second delivery of the vendor's result has the same row, which is charged once.
  if (line.vendor) return jobLineId({ job: job.id, first, last: first, attempt: undefined });
  const { length: lines } = line.inputsOfLines ?? [1];
  const isFirst = attempts === 0 && attempt === 0 && !line.charged;
  return jobLineId({
    job: job.id,
    first,
    last: first + lines - 1,
    attempt: isFirst ? undefined : `${attempts + 1}.${attempt + 1}`,
  });
}

/** Of a result that is not successful. */
const errorIn = (result: LineResult): GatewayError => {
  if (result.kind === "none") return result.error;
  const { code = "internal", message = "The result could not be delivered." } = result.error ?? {};
  return new GatewayError(code as ErrorKind, message);
};

const none = (error: GatewayError): LineResult => ({ kind: "none", error });

const possiblyBilled = ({ kind, message, details }: GatewayError): GatewayError =>
  withBillingWarning(new GatewayError(kind, message, { ...details, mayBeBilled: true }));

const isRefusedByLimit = ({ status }: OutgoingResponse): boolean =>
  status === 429 || status === 503;

/** What a limit refuses waits until the deadline. */
function isFailure(
  { line }: Pick<RunningLine, "line">,
  response: OutgoingResponse,
  { error }: Pick<LineContext, "error">,
): boolean {
  // The budget may be too small because of the other lines of the range, whose reservation stays while they wait.
  const isOverBudget = line.isPartlyReserved === true && error?.code === "over_budget";
  return isOverBudget || !isRefusedByLimit(response);
}

const isSuccess = ({ status }: OutgoingResponse): boolean => status >= 200 && status <= 299;

const resultOf = (
  response: OutgoingResponse,
  { requestId, error }: Pick<LineContext, "requestId" | "error">,
): LineResult => ({
  kind: "response",
  status: response.status,
  requestId,
  error,
  headers: gatewayHeaders(response.headers),
  ...bodyOf(response),
});

/** A job has no HTTP response for each line, so its result has what the headers of the gateway say. */
const gatewayHeaders = (headers: OutgoingResponse["headers"]): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("vexel-")));

/** As long as the response says, otherwise longer after each attempt. Undefined if a retry cannot succeed. */
function delayOf({ status, headers }: OutgoingResponse, waitedMs: number): number | undefined {
  const isTransient = status === 408 || status === 409 || status === 429 || status >= 500;
  if (!isTransient || headers["x-should-retry"] === "false") return undefined;
  const suggestedMs = Number(
    headers["retry-after-ms"] ?? 1000 * Number(headers["retry-after"] ?? 0),
  );
  return retryDelay(waitedMs, { suggestedMs, maxMs: maxRetryMs });
}

/** Also ends when the signal is aborted: the loop checks why. */
async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, signal).catch(() => undefined);
}
