/**
 * The batch of a vendor that runs the lines of a range: creates it once, polls it, cancels it, and at last deletes its
 * files at the vendor. Its phase is recorded before each step that costs money, so any process continues after a crash.
 */
import type { ChargedLines, JobBudget } from "../../jobs/job-budget.ts";
import { type HeldRange, type JobLine, lastErrorOf, type RangeEnd } from "../../jobs/job-kind.ts";
import { type Answer, certainAt, maxReadings } from "../../jobs/next-step.ts";
import { jobFolder } from "../../jobs/segments.ts";
import { retryAt } from "../../jobs/waits.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Log } from "../../lib/log.ts";
import { toDollars } from "../../lib/nano-dollars.ts";
import { generatesImages } from "../../request/operation.ts";
import type { Reservation } from "../../request/reservation.ts";
import type { FileStore } from "../../storage/ports/file-store.ts";
import type { ClaimedRange, LastError } from "../../storage/sql/stored-job.ts";
import type { Target } from "../../upstream/contract.ts";
import { operationOf } from "../batches.ts";
import { type Vendor, withDiscount } from "./choose-execution.ts";
import { EndUserAndTagReservations } from "./end-user-and-tag-reservations.ts";
import { SentRequestsWriter, sentToOf } from "./sent-requests.ts";
import type { InputFile, JsonObject, VendorEndpoint, VendorStatus } from "./vendor-api.ts";
import { attempt, type VendorError } from "./vendor-api.ts";
import { type PlannedLine, VendorInput } from "./vendor-input.ts";

/** A line of a batch. */
export interface BatchLine extends JobLine {
  /** Of its result. */
  readonly id: string;
  readonly customId: string;
  /** The line of the job, from 0. */
  readonly number: number;
}

/** Where the lines of a job run. */
export interface VendorTarget extends Vendor {
  readonly target: Target;
  readonly endpoint: VendorEndpoint;
}

export interface VendorBatchOptions {
  readonly files: FileStore;
  /** The upstream requests of a line, and their estimated cost. Throws GatewayError if the line is invalid. */
  readonly plan: (line: JobLine, target: VendorTarget, payer: ChargedLines) => Promise<PlannedLine>;
  readonly budget: JobBudget;
  readonly log: Pick<Log, "warn">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** What the vendor has said: the next step follows from it. */
export type VendorAnswer =
  | VendorStatus
  | { readonly kind: "found"; readonly id: string }
  | { readonly kind: "missing" }
  | { readonly kind: "unknown" | "unresponsive"; readonly error: VendorError }
  | Extract<Answer, { kind: "canceling" }>;

export type Ended = Extract<VendorStatus, { kind: "ended" }>;

/** What the row of the range says about the batch besides its phase, as JSON in the column `vendor_batch`. */
export interface SentBatch {
  /** The name by which the batch is found at the vendor. */
  readonly name: string;
  /** The vendor's id of the input file. */
  readonly fileId: string;
  /** What all of its requests share. */
  readonly shared: JsonObject;
  /** The vendor's id. If absent, it is not known that the batch was created. */
  readonly id?: string;
  /** How it ended. If absent, it has not. */
  readonly end?: Ended;
}

export interface StoredBatch {
  /** If absent, nothing was sent. */
  readonly sent?: SentBatch;
  /** Why the vendor, or the gateway, refused the batch. */
  readonly refusal?: string;
}

export const storedBatchOf = ({ vendorBatch }: Pick<ClaimedRange, "vendorBatch">): StoredBatch =>
  vendorBatch === null ? {} : (JSON.parse(vendorBatch) as StoredBatch);

/** The files at the vendor, which are deleted when the range has ended. */
export const vendorFilesOf = (range: Pick<ClaimedRange, "vendorBatch">): readonly string[] => {
  const { sent } = storedBatchOf(range);
  return sent ? [sent.fileId, ...(sent.end?.files ?? [])] : [];
};

const stopped: RangeEnd = { kind: "stopped" };

/** How long the lines of one end user or tag, whose budget is reserved by other requests, delay the other lines. */
const endUserWaitMs = 10 * 60_000;

/** The steps. Each returns what the vendor says, or how the range ends for now. Undefined if the next step follows. */
export class VendorBatch {
  readonly #options: VendorBatchOptions;
  readonly #held: HeldRange;
  readonly #at: VendorTarget;

  constructor(options: VendorBatchOptions, held: HeldRange, at: VendorTarget) {
    this.#options = options;
    this.#held = held;
    this.#at = at;
  }

  async upload(
    payer: ChargedLines,
    lines: () => AsyncIterable<BatchLine>,
  ): Promise<RangeEnd | undefined> {
    const { files, plan, budget, now } = this.#options;
    const { api, target, priceFactor } = this.#at;
    const mayWait = now() < this.#held.range.phaseSince + endUserWaitMs;
    const input = new VendorInput(api, this.#job.endpoint, mayWait);
    const names = fileNamesOf(this.#held.range);
    const { caller, model } = payer;
    const parameters = caller.parameters ?? model.parameters ?? "adapt";
    const paid = withDiscount(target, priceFactor);
    const sentTo = sentToOf(paid, priceFactor, { ...model, parameters });
    const requests = new SentRequestsWriter(files, names.requests, sentTo);
    const endUsersAndTags = new EndUserAndTagReservations((owner, { nanos, maxNanos }) => {
      const charged = { ...payer, caller: { ...caller, budgets: [owner] } };
      return budget.reserve(nameOf(this.#held.range), charged, costOf(nanos, maxNanos));
    });
    try {
      const written = input.write(
        lines(),
        async (line) => {
          const planned = await plan(line, this.#at, payer);
          const { requests, endUserAndTagBudgets } = planned;
          if (requests.length > 0) await endUsersAndTags.add(endUserAndTagBudgets, planned);
          return planned;
        },
        requests,
      );
      const size = await files.write(names.input, written);
      await requests.close();
      if (input.delay) return this.tryAgain(input.delay);
      if (input.refusal !== undefined) return await this.#refuse(input.refusal);
      // All inputs are cached.
      if (input.isEmpty) return await this.#record({ phase: "lines" });
      const open = (): AsyncIterable<Uint8Array> => readStored(files, names.input);
      return await this.#send(payer, { size, open }, input, endUsersAndTags);
    } catch (error) {
      await requests.discard();
      throw error;
    } finally {
      endUsersAndTags.release();
    }
  }

  /** An attempt to create it is recorded first: from then on it may exist. */
  async create(): Promise<RangeEnd | undefined> {
    const { api, endpoint } = this.#at;
    const sent = this.#sent;
    if (!(await this.#held.record({ phase: "creating" }))) return stopped;
    const created = await attempt(api.create(endpoint, { ...sent, path: this.#job.endpoint }));
    if ("value" in created)
      return this.#record({ phase: "created", ...stored({ ...sent, id: created.value }) });
    const { failure } = created;
    if (failure.outcome === "refused") return this.#refuse(failure.message);
    if (failure.outcome === "not_done" && !(await this.#held.record({ phase: "uploaded" })))
      return stopped;
    return this.tryAgain(failure);
  }

  /** An earlier attempt may have created the batch. */
  async find(): Promise<VendorAnswer> {
    const { api, endpoint } = this.#at;
    const { phaseSince } = this.#held.range;
    const found = await attempt(api.find(endpoint, this.#sent.name, phaseSince));
    if ("value" in found)
      return found.value === undefined ? { kind: "missing" } : { kind: "found", id: found.value };
    const { failure: error } = found;
    // An image is never paid for twice; embeddings are sent again if the vendor cannot list its batches.
    const isImage = generatesImages(operationOf(this.#job));
    return error.outcome === "refused" && !isImage
      ? { kind: "missing" }
      : { kind: "unresponsive", error };
  }

  adopt(id: string): Promise<RangeEnd | undefined> {
    return this.#record({ phase: "created", ...stored({ ...this.#sent, id }) });
  }

  withdraw(): Promise<RangeEnd | undefined> {
    return this.#record({ phase: "lines" });
  }

  async poll(): Promise<VendorAnswer> {
    const { api, endpoint } = this.#at;
    const polled = await attempt(api.poll(endpoint, this.#sent.id ?? ""));
    if ("value" in polled) return polled.value;
    const { failure: error } = polled;
    // A key of the upstream that is refused may be replaced: only an unknown batch is gone.
    return { kind: error.status === 404 ? "unknown" : "unresponsive", error };
  }

  async cancel(): Promise<VendorAnswer | RangeEnd> {
    const isRecorded = this.#held.range.phase === "canceling";
    if (!isRecorded && !(await this.#held.record({ phase: "canceling" }))) return stopped;
    return this.abandon();
  }

  /** The batch, if its id is not recorded, is the one that was found. */
  async abandon(id = this.#sent.id ?? ""): Promise<Extract<Answer, { kind: "canceling" }>> {
    const { api, endpoint } = this.#at;
    const canceled = await attempt(api.cancel(endpoint, id));
    // If the vendor refuses, it has ended, or is unknown: the next poll shows it.
    const isRefused = !("failure" in canceled) || canceled.failure.outcome === "refused";
    return isRefused ? { kind: "canceling" } : { kind: "canceling", error: canceled.failure };
  }

  /** Cancels the batch of a range whose job has ended. False: the vendor may still run it. */
  async cancelAfterEnd(): Promise<boolean> {
    const { range } = this.#held;
    if (range.phase !== "creating") return (await this.abandon()).error === undefined;
    const answer = await this.find();
    if (answer.kind === "found") return (await this.abandon(answer.id)).error === undefined;
    return answer.kind === "missing" && this.#options.now() >= certainAt(range);
  }

  /** `answer`: why. */
  wait(answer: VendorAnswer): RangeEnd {
    const { range } = this.#held;
    if (answer.kind === "missing")
      return { kind: "waits", wait: { until: certainAt(range), error: range.lastError } };
    if ("error" in answer && answer.error) return this.tryAgain(answer.error);
    const until = retryAt(range.phaseSince, this.#options.now());
    return { kind: "waits", wait: { until, error: null } };
  }

  /** Rejects if the file is still at the vendor. */
  async deleteFile(fileId: string): Promise<void> {
    const { api, endpoint } = this.#at;
    const deleted = await attempt(api.deleteFile(endpoint, fileId));
    // It was deleted before.
    if ("failure" in deleted && deleted.failure.status !== 404) throw deleted.failure;
  }

  /** The vendor, or the storage, does not respond as it should. */
  tryAgain(error: Error): RangeEnd {
    return delayed(this.#held.range, error, this.#options);
  }

  get #job(): ClaimedRange["job"] {
    return this.#held.range.job;
  }

  get #sent(): SentBatch {
    const { sent } = storedBatchOf(this.#held.range);
    if (sent) return sent;
    throw new GatewayError("internal", "Nothing was sent to the vendor.");
  }

  async #record(change: Parameters<HeldRange["record"]>[0]): Promise<RangeEnd | undefined> {
    return (await this.#held.record(change)) ? undefined : stopped;
  }

  #refuse(refusal: string): Promise<RangeEnd | undefined> {
    const { sent } = storedBatchOf(this.#held.range);
    const batch: StoredBatch = { ...(sent && { sent }), refusal };
    return this.#record({ phase: "refused", vendorBatch: JSON.stringify(batch) });
  }

  /** From the time of this phase on, its lines are charged. */
  end(end: Ended): Promise<RangeEnd | undefined> {
    return this.#record({ phase: "delivering", ...stored({ ...this.#sent, end }) });
  }

  /** The vendor has too many requests in its queue: the batch is created again, under another name. */
  async createLater({ reason = "The vendor's queue is full." }: Ended): Promise<RangeEnd> {
    const { id: _, ...sent } = this.#sent;
    const now = this.#options.now();
    const name = `${nameOf(this.#held.range)}-${now.toString(36)}`;
    const isHeld = await this.#held.record({ phase: "uploaded", ...stored({ ...sent, name }) });
    if (!isHeld) return stopped;
    const error = { code: "upstream_error", message: reason.slice(0, 500) };
    return { kind: "waits", wait: { until: retryAt(this.#job.createdAt, now), error } };
  }

  /** Uploads the input file within the budgets. Afterwards the row of the range has the reservation. */
  async #send(
    payer: ChargedLines,
    file: InputFile,
    { shared, isCertain, maximum, likely }: VendorInput,
    endUsersAndTags: Pick<EndUserAndTagReservations, "isLikely">,
  ): Promise<RangeEnd | undefined> {
    const { budget } = this.#options;
    const { api, endpoint } = this.#at;
    const name = nameOf(this.#held.range);
    let reservation: Reservation | undefined;
    try {
      const isUnknown = maximum.nanos === 0 && !isCertain;
      const cost = costOf(isUnknown ? null : likely.nanos, maximum.nanos);
      reservation = await budget.reserve(name, payer, { ...cost, isCertain });
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      // A budget that is exhausted for now delays the batch.
      return error.definition.retry === "later"
        ? this.tryAgain(error)
        : this.#refuse(error.message);
    }
    try {
      const uploaded = await attempt(api.upload(endpoint, file, name));
      if ("failure" in uploaded) {
        const { failure } = uploaded;
        return failure.outcome === "refused"
          ? this.#refuse(failure.message)
          : this.tryAgain(failure);
      }
      const sent = stored({ shared, name, fileId: uploaded.value });
      const isLikely = reservation?.isLikely || endUsersAndTags.isLikely;
      const reserved = isLikely ? likely : maximum;
      if (!(await this.#held.record({ phase: "uploaded", reserved, ...sent }))) return stopped;
      return await budget.refresh().then(
        () => undefined,
        (error: Error) => this.tryAgain(error),
      );
    } finally {
      reservation?.release();
    }
  }
}

const stored = (sent: SentBatch): { readonly vendorBatch: string } => ({
  vendorBatch: JSON.stringify({ sent } satisfies StoredBatch),
});

const costOf = (nanos: number | null, maxNanos = nanos ?? 0) => ({
  dollars: nanos === null ? null : toDollars(nanos),
  maxDollars: toDollars(maxNanos),
});

const reasonOf = (error: Error): LastError =>
  error instanceof GatewayError
    ? lastErrorOf(error)
    : { code: "upstream_error", message: error.message.slice(0, 500) };

/** The range is claimed again later, and says why. */
export function delayed(
  { job }: Pick<ClaimedRange, "job">,
  error: Error,
  { log, now }: Pick<VendorBatchOptions, "log" | "now">,
): RangeEnd {
  log.warn("vendor-batch-delayed", { job: job.id, reason: error.message });
  return { kind: "waits", wait: { until: retryAt(job.createdAt, now()), error: reasonOf(error) } };
}

/**
 * The results of the batch are not awaited any more. From the time at which it ended, or from now on, its lines are
 * charged their estimates, because the vendor may bill them.
 */
export async function giveUp(
  held: HeldRange,
  reason: string,
  log: Pick<Log, "warn">,
): Promise<RangeEnd | undefined> {
  const { job, phase } = held.range;
  const { sent } = storedBatchOf(held.range);
  if (!sent) throw new GatewayError("internal", "Nothing was sent to the vendor.");
  log.warn("vendor-batch-given-up", { job: job.id, reason });
  const { files = [] } = sent.end ?? {};
  const end: Ended = { kind: "ended", outcome: "failed", reason, files };
  const isHeld = await held.record({
    // Lines that were delivered have the time of this phase in their ledger rows.
    ...(phase !== "delivering" && { phase: "delivering" as const }),
    readings: maxReadings,
    ...stored({ ...sent, end }),
  });
  return isHeld ? undefined : stopped;
}

const nameOf = ({ job, number }: ClaimedRange): string => `vexel-${job.id}-${number}`;

/** They stay until the job has ended. */
export const fileNamesOf = ({ job, number }: ClaimedRange) => {
  const name = `${jobFolder(job.id)}/vendor-${number}`;
  return { input: `${name}.input`, requests: `${name}.requests`, results: `${name}.results` };
};

async function* readStored(files: FileStore, name: string): AsyncGenerator<Uint8Array> {
  const found = await files.find(name);
  if (!found) throw new GatewayError("storage_unavailable", "The input of the batch is missing.");
  yield* found.read();
}
