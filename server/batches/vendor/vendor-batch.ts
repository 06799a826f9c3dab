/**
 * The batch of a vendor that runs the lines of a range: creates it once, polls it, cancels it, and at last deletes its
 * files at the vendor. Its phase is recorded before each step that costs money, so any process continues after a crash.
 */
import type { ChargedLines, JobBudget } from "../../jobs/job-budget.ts";
import { type HeldRange, type JobLine, lastErrorOf, type RangeEnd } from "../../jobs/job-kind.ts";
import { cancelMs, maxReadings } from "../../jobs/next-step.ts";
import { jobFolder } from "../../jobs/segments.ts";
import { retryAt } from "../../jobs/waits.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Log } from "../../lib/log.ts";
import { toDollars } from "../../lib/nano-dollars.ts";
import { generatesImages } from "../../request/operation.ts";
import type { Reservation } from "../../request/reservation.ts";
import type { FileStore } from "../../storage/ports/file-store.ts";
import type { ClaimedRange, LastError, Wait } from "../../storage/sql/stored-job.ts";
import type { Target } from "../../upstream/contract.ts";
import { operationOf } from "../batches.ts";
import { type Vendor, withDiscount } from "./choose-execution.ts";
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

/** After this time, a batch of images that is not in the vendor's list was not created: it is not paid for twice. */
const settleMs = 2 * 60_000;

const stopped: RangeEnd = { kind: "stopped" };

/** Each step returns how the range ends for now. Undefined if the next step follows. */
export class VendorBatch {
  readonly #options: VendorBatchOptions;
  readonly #held: HeldRange;
  readonly #at: VendorTarget;
  readonly #isEnding: boolean;

  /** `isRevoked`: the API key of the job was revoked, or has expired, so nothing more is sent. */
  constructor(options: VendorBatchOptions, held: HeldRange, at: VendorTarget, isRevoked = false) {
    this.#options = options;
    this.#held = held;
    this.#at = at;
    this.#isEnding = isRevoked || held.range.job.ending !== null;
  }

  async upload(
    payer: ChargedLines,
    lines: () => AsyncIterable<BatchLine>,
  ): Promise<RangeEnd | undefined> {
    const { files, plan } = this.#options;
    const { api, target, priceFactor } = this.#at;
    const input = new VendorInput(api, this.#job.endpoint);
    const names = fileNamesOf(this.#held.range);
    const { caller, model } = payer;
    const parameters = caller.parameters ?? model.parameters ?? "adapt";
    const paid = withDiscount(target, priceFactor);
    const sentTo = sentToOf(paid, priceFactor, { ...model, parameters });
    const requests = new SentRequestsWriter(files, names.requests, sentTo);
    const reserved: Reservation[] = [];
    try {
      const written = input.write(
        lines(),
        async (line) => {
          const planned = await plan(line, this.#at, payer);
          const reservation = await this.#reserveEndUsersAndTags(line, planned, payer);
          if (reservation) reserved.push(reservation);
          return planned;
        },
        requests,
      );
      const size = await files.write(names.input, written);
      await requests.close();
      if (input.refusal !== undefined) return await this.#refuse(input.refusal);
      // All inputs are cached.
      if (input.isEmpty) return await this.#record({ phase: "lines" });
      const open = (): AsyncIterable<Uint8Array> => readStored(files, names.input);
      return await this.#send(payer, { size, open }, input);
    } catch (error) {
      await requests.discard();
      throw error;
    } finally {
      for (const reservation of reserved) reservation.release();
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
  async find(): Promise<RangeEnd | undefined> {
    const found = await this.#lookUp();
    if ("wait" in found) return { kind: "waits", wait: found.wait };
    if (found.id !== undefined)
      return this.#record({ phase: "created", ...stored({ ...this.#sent, id: found.id }) });
    return this.#isEnding ? this.#record({ phase: "lines" }) : this.create();
  }

  /** `id`: undefined if it was certainly not created. */
  async #lookUp(): Promise<Pick<SentBatch, "id"> | { readonly wait: Wait }> {
    const { api, endpoint } = this.#at;
    const { phaseSince: since, lastError } = this.#held.range;
    const found = await attempt(api.find(endpoint, this.#sent.name, since));
    // An image is never paid for twice; embeddings are sent again if the vendor cannot list its batches.
    const isImage = generatesImages(operationOf(this.#job));
    if ("failure" in found && (isImage || found.failure.outcome !== "refused"))
      return { wait: this.#waitAfter(found.failure) };
    if ("value" in found && found.value !== undefined) return { id: found.value };
    // The request that creates it may still be on its way.
    const until = since + settleMs;
    return this.#options.now() < until ? { wait: { until, error: lastError } } : {};
  }

  async poll(): Promise<RangeEnd | undefined> {
    const { now } = this.#options;
    const { api, endpoint } = this.#at;
    const { phase, phaseSince } = this.#held.range;
    const { id = "" } = this.#sent;
    const polled = await attempt(api.poll(endpoint, id));
    if ("failure" in polled && isUnknown(polled.failure))
      return this.#giveUp(`the vendor does not know it any more: ${polled.failure.message}`);
    if ("value" in polled && polled.value.kind === "ended") {
      const { value: end } = polled;
      return end.isQueueFull && !this.#isEnding ? this.#createLater(end) : this.#end(end);
    }
    if (this.#isEnding) {
      if (phase === "canceling" && now() > phaseSince + cancelMs)
        return this.#giveUp("the vendor did not end it in 15 minutes after it was canceled");
      if (phase !== "canceling" && !(await this.#held.record({ phase: "canceling" })))
        return stopped;
      // It is being canceled, or has ended: the next poll shows it.
      await attempt(api.cancel(endpoint, id));
    }
    if ("failure" in polled) return this.tryAgain(polled.failure);
    return waits(retryAt(this.#held.range.phaseSince, now()));
  }

  /** The lines of the range end without its results: it must not cost more. */
  async abandon(): Promise<{ readonly wait: Wait } | "canceled" | "not created"> {
    const { api, endpoint } = this.#at;
    const { sent } = storedBatchOf(this.#held.range);
    if (!sent) return "not created";
    const found = this.#held.range.phase === "creating" ? await this.#lookUp() : sent;
    if ("wait" in found) return found;
    if (found.id === undefined) return "not created";
    const canceled = await attempt(api.cancel(endpoint, found.id));
    // It has ended, or is unknown.
    if (!("failure" in canceled) || canceled.failure.outcome === "refused") return "canceled";
    return { wait: this.#waitAfter(canceled.failure) };
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
    return { kind: "waits", wait: this.#waitAfter(error) };
  }

  #waitAfter(error: Error): Wait {
    const { log, now } = this.#options;
    log.warn("vendor-batch-delayed", { job: this.#job.id, reason: error.message });
    return { until: retryAt(this.#job.createdAt, now()), error: reasonOf(error) };
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
  #end(end: Ended): Promise<RangeEnd | undefined> {
    return this.#record({ phase: "delivering", ...stored({ ...this.#sent, end }) });
  }

  #giveUp(reason: string): Promise<RangeEnd | undefined> {
    return giveUp(this.#held, reason, this.#options.log);
  }

  /** The vendor has too many requests in its queue: the batch is created again, under another name. */
  async #createLater({ reason = "The vendor's queue is full." }: Ended): Promise<RangeEnd> {
    const { id: _, ...sent } = this.#sent;
    const now = this.#options.now();
    const name = `${nameOf(this.#held.range)}-${now.toString(36)}`;
    const isHeld = await this.#held.record({ phase: "uploaded", ...stored({ ...sent, name }) });
    if (!isHeld) return stopped;
    const error = { code: "upstream_error", message: reason.slice(0, 500) };
    return { kind: "waits", wait: { until: retryAt(this.#job.createdAt, now), error } };
  }

  /** In the budgets of the end user and the tags of the line, which fails alone if they are too small. */
  async #reserveEndUsersAndTags(
    { number }: BatchLine,
    { requests, nanos, maxNanos, endUserAndTagBudgets }: PlannedLine,
    payer: ChargedLines,
  ): Promise<Reservation | undefined> {
    if (requests.length === 0 || endUserAndTagBudgets.length === 0) return undefined;
    const charged = { ...payer, caller: { ...payer.caller, budgets: endUserAndTagBudgets } };
    const name = `${nameOf(this.#held.range)}-${number}`;
    return this.#options.budget.reserve(name, charged, costOf(nanos, maxNanos));
  }

  /** Uploads the input file within the budgets. Afterwards the row of the range has the reservation. */
  async #send(
    payer: ChargedLines,
    file: InputFile,
    { shared, isCertain, maximum, likely }: VendorInput,
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
      const reserved = reservation?.isLikely ? likely : maximum;
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

const waits = (until: number): RangeEnd => ({ kind: "waits", wait: { until, error: null } });

const reasonOf = (error: Error): LastError =>
  error instanceof GatewayError
    ? lastErrorOf(error)
    : { code: "upstream_error", message: error.message.slice(0, 500) };

/** A key of the upstream that is refused may be replaced: only an unknown batch is gone. */
const isUnknown = ({ status }: VendorError): boolean => status === 404;

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
