/**
 * The batch of a vendor that runs the lines of a range: creates it once, polls it, cancels it, and at last deletes its
 * files at the vendor. Its state is recorded before each step that costs money, so any process continues after a crash.
 */
import type { ChargedLines, JobBudget } from "../../jobs/job-budget.ts";
import { type JobLine, RangeWaits, type RecordVendorBatch } from "../../jobs/job-kind.ts";
import { jobFolder } from "../../jobs/segments.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Log } from "../../lib/log.ts";
import { toDollars } from "../../lib/nano-dollars.ts";
import type { Reservation } from "../../request/reservation.ts";
import type { FileStore } from "../../storage/ports/file-store.ts";
import type { RangeReservation, StoredJob } from "../../storage/sql/stored-job.ts";
import type { Target } from "../../upstream/contract.ts";
import { type Vendor, withDiscount } from "./index.ts";
import { SentRequestsWriter, sentToOf } from "./sent-requests.ts";
import type { InputFile, VendorEndpoint, VendorStatus } from "./vendor-api.ts";
import { againIfRefused, noneIfRefused, statusOfError, VendorError } from "./vendor-endpoint.ts";
import { readStored } from "./vendor-files.ts";
import { type PlannedLine, VendorInput, VendorRefusal } from "./vendor-input.ts";
import type { Created, Creating, Uploaded, VendorState } from "./vendor-state.ts";

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
type Step =
  | Exclude<VendorState, Uploaded | Creating | Created>
  | { readonly kind: "results"; readonly sent: Created; readonly status: Ended };

/** How long a canceled batch may take to end. */
export const cancelMs = 15 * 60_000;
const [minWaitMs, maxWaitMs] = [1000, 60_000];
/** After this time, a batch of images that is not in the vendor's list was not created: it is not paid for twice. */
const settleMs = 2 * 60_000;

/** A batch of one range. */
interface VendorRange {
  readonly job: StoredJob;
  readonly number: number;
}

export class VendorBatch {
  readonly #options: VendorBatchOptions;
  readonly #range: VendorRange;
  readonly #at: VendorTarget;
  readonly #record: RecordVendorBatch;
  /** The input file at the vendor. */
  #file: { readonly fileId?: string } = {};

  constructor(
    options: VendorBatchOptions,
    range: VendorRange,
    at: VendorTarget,
    record: RecordVendorBatch,
  ) {
    this.#options = options;
    this.#range = range;
    this.#at = at;
    this.#record = record;
  }

  /** One step. Throws RangeWaits while the vendor works. */
  async advance(
    before: VendorState | undefined,
    payer: ChargedLines | undefined,
    lines: () => AsyncIterable<BatchLine>,
  ): Promise<Step> {
    if (before?.fileId !== undefined) this.#file = { fileId: before.fileId };
    try {
      const state =
        !before || before.kind === "creating" || before.kind === "uploaded"
          ? await this.#create(before, payer, lines)
          : before;
      if (state.kind !== "created") return state;
      const status = await this.#poll(state);
      if (status.isQueueFull && !this.#range.job.ending) await this.#createLater(state);
      return { kind: "results", sent: state, status };
    } catch (error) {
      if (error instanceof VendorRefusal || (error instanceof VendorError && !error.isTemporary))
        return this.#save({ kind: "refused", reason: error.message, ...this.#file });
      throw error instanceof VendorError ? this.tryAgain(error) : error;
    }
  }

  /** The lines of the range end without its results: it must not cost more. */
  async abandon(state: VendorState): Promise<void> {
    const { api, endpoint } = this.#at;
    const found = state.kind === "creating" ? await this.#find(state) : undefined;
    const id = state.kind === "created" ? state.id : found;
    if (id !== undefined) await api.cancel(endpoint, id).catch(ignoreRefusal);
  }

  /** Rejects if the file is still at the vendor. */
  async deleteFile(fileId: string): Promise<void> {
    const { api, endpoint } = this.#at;
    await api.deleteFile(endpoint, fileId).catch((error: unknown) => {
      // It was deleted before.
      if (!(error instanceof VendorError) || error.status !== 404) throw error;
    });
  }

  /** Reading the results begins, has ended (0), or has failed for another reason than the results. */
  async setReadings(sent: Created, readings: number): Promise<void> {
    await this.#save({ ...sent, readings });
  }

  /** The batch has ended. Its lines are charged to the time at which that was first recorded. */
  ended(sent: Created, { files: resultFiles }: Ended): Created & { readonly endedAt: number } {
    return { ...sent, endedAt: sent.endedAt ?? this.#options.now(), resultFiles };
  }

  /** The vendor, or the storage, does not respond as it should. */
  tryAgain(error: Error): RangeWaits {
    const { log } = this.#options;
    log.warn("vendor-batch-delayed", { job: this.#range.job.id, reason: error.message });
    return this.#wait(this.#range.job.createdAt);
  }

  async #refreshBudget(): Promise<void> {
    await this.#options.budget.refresh().catch((error: Error) => {
      throw this.tryAgain(error);
    });
  }

  /** The longer it has taken, the longer the next wait. */
  #wait(since: number): RangeWaits {
    const now = this.#options.now();
    return new RangeWaits(now + Math.min(Math.max((now - since) / 10, minWaitMs), maxWaitMs));
  }

  /** `reserved`: absent if it stays as it is. Nothing is reserved for lines that are not at the vendor. */
  async #save<S extends VendorState>(state: S, reserved?: RangeReservation | null): Promise<S> {
    const isSent = state.kind !== "refused" && state.kind !== "unneeded";
    await this.#record(JSON.stringify(state), isSent ? reserved : null);
    if (state.fileId !== undefined) this.#file = { fileId: state.fileId };
    return state;
  }

  /** `creating`: an earlier attempt may have created the batch. */
  async #create(
    before: Uploaded | Creating | undefined,
    payer: ChargedLines | undefined,
    lines: () => AsyncIterable<BatchLine>,
  ): Promise<Exclude<VendorState, Uploaded | Creating>> {
    if (before?.kind === "creating") {
      const id = await this.#find(before);
      if (id !== undefined) return this.#save({ ...before, kind: "created", id });
    }
    if (this.#range.job.ending) return this.#save({ kind: "unneeded", ...this.#file });
    const sent = before ?? (payer && (await this.#upload(payer, lines)));
    if (!sent) return this.#save({ kind: "unneeded" });
    return this.#createOnce(sent);
  }

  async #createOnce(sent: Uploaded | Creating): Promise<Created> {
    const { api, endpoint } = this.#at;
    const path = this.#range.job.endpoint;
    const creating = { ...sent, kind: "creating", at: this.#options.now() } as const;
    await this.#save(creating);
    try {
      const id = await api.create(endpoint, { ...sent, path });
      return await this.#save({ ...creating, kind: "created", id });
    } catch (error) {
      if (!(error instanceof VendorError)) throw error;
      if (error.isTemporary && !error.isUnknown)
        await this.#save({ ...creating, kind: "uploaded" });
      throw error;
    }
  }

  async #find({ name, at }: Creating): Promise<string | undefined> {
    const { api, endpoint } = this.#at;
    const isEmbedding = this.#range.job.endpoint === "/v1/embeddings";
    // An image is never paid for twice; embeddings are sent again if the vendor cannot list its batches.
    const found = await api
      .find(endpoint, name, at)
      .catch(isEmbedding ? noneIfRefused : againIfRefused);
    // The request that creates it may still be on its way.
    if (found === undefined && this.#options.now() < at + settleMs)
      throw new RangeWaits(at + settleMs);
    return found;
  }

  /** The vendor has too many requests in its queue: the batch is created again, under another name. */
  async #createLater({ id: _, cancelledAt: __, ...sent }: Created): Promise<never> {
    const now = this.#options.now();
    const name = `${nameOf(this.#range)}-${now.toString(36)}`;
    await this.#save({ ...sent, kind: "uploaded", name, at: now });
    throw this.#wait(this.#range.job.createdAt);
  }

  /** Undefined: there is nothing to send. */
  async #upload(
    payer: ChargedLines,
    lines: () => AsyncIterable<BatchLine>,
  ): Promise<Uploaded | undefined> {
    const { files, plan } = this.#options;
    const { api, target, priceFactor } = this.#at;
    const input = new VendorInput(api, this.#range.job.endpoint);
    const names = fileNamesOf(this.#range);
    const { caller, model } = payer;
    const parameters = caller.parameters ?? model.parameters ?? "adapt";
    const paid = withDiscount(target, priceFactor);
    const sentTo = sentToOf(paid, priceFactor, { ...model, parameters });
    const requests = new SentRequestsWriter(files, names.requests, sentTo);
    const held: Reservation[] = [];
    try {
      const written = input.write(
        lines(),
        async (line) => {
          const planned = await plan(line, this.#at, payer);
          const reservation = await this.#reserveLabels(line, planned, payer);
          if (reservation) held.push(reservation);
          return planned;
        },
        requests,
      );
      const size = await files.write(names.input, written);
      await requests.close();
      if (input.isEmpty) return undefined;
      const open = (): AsyncIterable<Uint8Array> => readStored(files, names.input);
      return await this.#send(payer, { size, open }, input);
    } catch (error) {
      await requests.discard();
      throw error;
    } finally {
      for (const reservation of held) reservation.release();
    }
  }

  /** In the budgets of the end user and the tags of the line, which fails alone if they are too small. */
  async #reserveLabels(
    { number }: BatchLine,
    { requests, nanos, labelBudgets }: PlannedLine,
    payer: ChargedLines,
  ): Promise<Reservation | undefined> {
    if (requests.length === 0 || labelBudgets.length === 0) return undefined;
    const labeled = { ...payer, caller: { ...payer.caller, budgets: labelBudgets } };
    const dollars = nanos === null ? null : toDollars(nanos);
    return this.#options.budget.reserve(`${nameOf(this.#range)}-${number}`, labeled, { dollars });
  }

  /** Uploads the input file within the budgets. Afterwards the row of the range has the reservation. */
  async #send(payer: ChargedLines, file: InputFile, input: VendorInput): Promise<Uploaded> {
    const { now } = this.#options;
    const { api, endpoint } = this.#at;
    const name = nameOf(this.#range);
    const { shared, nanos, reserved } = input;
    const reservation = await this.#reserve(payer, nanos === null ? null : toDollars(nanos));
    try {
      const fileId = await api.upload(endpoint, file, name);
      const sent = { shared, name, fileId, at: now() };
      const uploaded = await this.#save({ ...sent, kind: "uploaded" }, reserved);
      await this.#refreshBudget();
      return uploaded;
    } finally {
      reservation?.release();
    }
  }

  /** A budget that is exhausted for now delays the batch. Throws GatewayError. */
  async #reserve(payer: ChargedLines, dollars: number | null): Promise<Reservation | undefined> {
    try {
      return await this.#options.budget.reserve(nameOf(this.#range), payer, { dollars });
    } catch (error) {
      if (error instanceof GatewayError && error.definition.retry === "later")
        throw this.#wait(this.#range.job.createdAt);
      if (error instanceof GatewayError) throw new VendorRefusal(error.message);
      throw error;
    }
  }

  async #poll(state: Created): Promise<Ended> {
    const { now } = this.#options;
    const { api, endpoint } = this.#at;
    const { job } = this.#range;
    const since = state.cancelledAt ?? job.deadline;
    if (job.ending && now() > since + cancelMs)
      return { kind: "ended", outcome: "cancelled", files: [] };
    const status = await api.poll(endpoint, state.id).catch(statusOfError);
    if (status.kind === "ended") return status;
    if (job.ending) await this.#cancel(state);
    throw this.#wait(state.at);
  }

  async #cancel(state: Created): Promise<void> {
    const { api, endpoint } = this.#at;
    if (state.cancelledAt === undefined)
      await this.#save({ ...state, cancelledAt: this.#options.now() });
    // It is being canceled, or has ended: the next poll shows it.
    await api.cancel(endpoint, state.id).catch(ignoreVendorError);
  }
}

const nameOf = ({ job, number }: VendorRange): string => `vexel-${job.id}-${number}`;

/** They stay until the job has ended. */
export const fileNamesOf = ({ job, number }: VendorRange) => {
  const name = `${jobFolder(job.id)}/vendor-${number}`;
  return { input: `${name}.input`, requests: `${name}.requests`, results: `${name}.results` };
};

function ignoreVendorError(error: unknown): void {
  if (!(error instanceof VendorError)) throw error;
}

/** The batch has ended, or is unknown. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof VendorError) || error.isTemporary) throw error;
}
