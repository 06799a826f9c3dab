/**
 * The batch of a vendor that runs the lines of a range: creates it once, polls it, cancels it, and deletes its files at
 * the vendor. Its state is recorded before each step that costs money, so any process continues after a crash.
 */
import type { ChargedLines, JobBudget } from "../../jobs/job-budget.ts";
import { type JobLine, RangeWaits, type RecordVendorBatch } from "../../jobs/job-kind.ts";
import { jobFolder } from "../../jobs/segments.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Log } from "../../lib/log.ts";
import type { Reservation } from "../../request/reservation.ts";
import type { FileStore } from "../../storage/ports/file-store.ts";
import type { StoredJob } from "../../storage/sql/stored-job.ts";
import type { Target } from "../../upstream/contract.ts";
import type { Vendor } from "./index.ts";
import type { InputFile, VendorEndpoint, VendorStatus } from "./vendor-api.ts";
import { againIfRefused, noneIfRefused, statusOfError, VendorError } from "./vendor-endpoint.ts";
import { readStored } from "./vendor-files.ts";
import { type PlannedLine, VendorInput, VendorRefusal } from "./vendor-input.ts";
import type { Created, Creating, Sent, VendorState } from "./vendor-state.ts";

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
  | Exclude<VendorState, Creating | Created>
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
    payer: ChargedLines,
    lines: () => AsyncIterable<BatchLine>,
  ): Promise<Step> {
    try {
      const state =
        !before || before.kind === "creating" ? await this.#create(before, payer, lines) : before;
      if (state.kind !== "created") return state;
      const status = await this.#poll(state);
      if (status.isQueueFull && !this.#range.job.ending) await this.#createLater(state);
      return { kind: "results", sent: state, status };
    } catch (error) {
      if (error instanceof VendorRefusal || (error instanceof VendorError && !error.isTemporary))
        return this.#save({ kind: "refused", reason: error.message });
      throw error instanceof VendorError ? this.tryAgain(error) : error;
    }
  }

  /** The lines of the range end without its results: it must not cost more. */
  async abandon(state: VendorState): Promise<void> {
    if (state.kind !== "creating" && state.kind !== "created") return;
    const { api, endpoint } = this.#at;
    const id = state.kind === "created" ? state.id : await this.#find(state);
    if (id !== undefined) await api.cancel(endpoint, id).catch(ignoreRefusal);
    await this.deleteFiles([state.fileId]);
  }

  /** The batch has ended: only lines with a result cost something. `part`: of the lines that were sent. */
  async reserveOnly(part: number, sent: Created): Promise<void> {
    if (sent.dollars === null || part >= 1) return;
    await this.#record(JSON.stringify(sent), sent.dollars * part || null);
    await this.#refreshBudget();
  }

  /** Files of batches that have ended. */
  async deleteFiles(fileIds: readonly string[]): Promise<void> {
    const { api, endpoint } = this.#at;
    for (const fileId of fileIds) {
      try {
        await api.deleteFile(endpoint, fileId);
      } catch (error) {
        if (!(error instanceof VendorError)) throw error;
        // An earlier process has deleted it.
        if (error.status === 404) continue;
        const { log } = this.#options;
        log.warn("vendor-file-not-deleted", { job: this.#range.job.id, reason: error.message });
      }
    }
  }

  /** Reading the results begins, has ended (0), or has failed for another reason than the results. */
  async setReadings(sent: Created, readings: number): Promise<void> {
    await this.#save({ ...sent, readings });
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

  async #save<S extends VendorState>(state: S): Promise<S> {
    await this.#record(JSON.stringify(state), "dollars" in state ? state.dollars : null);
    return state;
  }

  /** `creating`: an earlier attempt may have created the batch. */
  async #create(
    creating: Creating | undefined,
    payer: ChargedLines,
    lines: () => AsyncIterable<BatchLine>,
  ): Promise<Exclude<VendorState, Creating>> {
    const { api, endpoint } = this.#at;
    const found = creating && (await this.#find(creating));
    if (creating && found !== undefined)
      return this.#save({ ...creating, kind: "created", id: found });
    if (this.#range.job.ending) {
      if (creating) await this.deleteFiles([creating.fileId]);
      return this.#save({ kind: "unneeded" });
    }
    const sent = creating ?? (await this.#upload(payer, lines));
    if (!sent) return this.#save({ kind: "unneeded" });
    try {
      const id = await api.create(endpoint, { ...sent, path: this.#range.job.endpoint });
      return await this.#save({ ...sent, kind: "created", id });
    } catch (error) {
      if (error instanceof VendorError && !error.isTemporary) await this.deleteFiles([sent.fileId]);
      throw error;
    }
  }

  async #find({ name, at }: Creating): Promise<string | undefined> {
    const { api, endpoint } = this.#at;
    const finding = api.find(endpoint, name, at);
    if (this.#range.job.endpoint === "/v1/embeddings") return finding.catch(noneIfRefused);
    const found = await finding.catch(againIfRefused);
    // The request that creates it may still be on its way.
    if (found === undefined && this.#options.now() < at + settleMs)
      throw new RangeWaits(at + settleMs);
    return found;
  }

  /** The vendor has too many requests in its queue: the batch is created again, under another name. */
  async #createLater({ id: _, cancelledAt: __, ...sent }: Created): Promise<never> {
    const now = this.#options.now();
    const name = `${nameOf(this.#range)}-${now.toString(36)}`;
    await this.#save({ ...sent, kind: "creating", name, at: now });
    throw this.#wait(this.#range.job.createdAt);
  }

  /** Undefined: there is nothing to send. */
  async #upload(
    payer: ChargedLines,
    lines: () => AsyncIterable<BatchLine>,
  ): Promise<Creating | undefined> {
    const { files, plan } = this.#options;
    const { api } = this.#at;
    const input = new VendorInput(api, this.#range.job.endpoint);
    const inputName = `${jobFolder(this.#range.job.id)}/vendor-${this.#range.number}.input`;
    try {
      const written = input.write(lines(), (line) => plan(line, this.#at, payer));
      const size = await files.write(inputName, written);
      if (input.isEmpty) return undefined;
      const open = (): AsyncIterable<Uint8Array> => readStored(files, inputName);
      const { skipped, shared, dollars } = input;
      return await this.#send(payer, { size, open }, { skipped, shared, dollars });
    } finally {
      await files.remove(inputName);
    }
  }

  /** Uploads the input file within the budgets. Afterwards the row of the range has the reserved cost. */
  async #send(
    payer: ChargedLines,
    file: InputFile,
    planned: Pick<Sent, "skipped" | "shared" | "dollars">,
  ): Promise<Creating> {
    const { now } = this.#options;
    const { api, endpoint } = this.#at;
    const name = nameOf(this.#range);
    const reservation = await this.#reserve(payer, planned.dollars);
    try {
      const fileId = await api.upload(endpoint, file, name);
      const sent = { ...planned, name, fileId, at: now() };
      const creating = await this.#save({ ...sent, kind: "creating" });
      if (reservation) await this.#refreshBudget();
      return creating;
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

function ignoreVendorError(error: unknown): void {
  if (!(error instanceof VendorError)) throw error;
}

/** The batch has ended, or is unknown. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof VendorError) || error.isTemporary) throw error;
}
