/**
 * The lines of a range that the batch of a vendor runs. The range is claimed again and again: to create the vendor's
 * batch, to poll it, and to read its results. Its state is recorded before each step that costs money, so any process
 * continues after a crash.
 */
import { type JobLine, RangeWaits, type RecordVendorBatch } from "../../jobs/job-kind.ts";
import { jobFolder } from "../../jobs/segments.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Log } from "../../lib/log.ts";
import type { FileStore } from "../../storage/ports/file-store.ts";
import type { ClaimedRange, StoredJob } from "../../storage/ports/job-store.ts";
import type { UpstreamRequest } from "../../upstream/adapter.ts";
import type { Target } from "../../upstream/contract.ts";
import { invalidResponse } from "../../upstream/invalid-response.ts";
import { dollarsOf, type Vendor, withDiscount } from "./index.ts";
import { ResultLine } from "./result-line.ts";
import type { VendorEndpoint, VendorStatus } from "./vendor-api.ts";
import type { Payer, VendorBudget } from "./vendor-budget.ts";
import { noneIfRefused, statusOfError, VendorError } from "./vendor-endpoint.ts";
import { download, readStored } from "./vendor-files.ts";
import { VendorInput, VendorRefusal } from "./vendor-input.ts";
import { VendorResults } from "./vendor-results.ts";
import { readState, type VendorState } from "./vendor-state.ts";

/** A line with its number in the job. */
export interface NumberedLine extends JobLine {
  readonly number: number;
}

/** Where the lines of a job run, and who pays. */
export interface VendorTarget extends Payer, Vendor {
  readonly target: Target;
  readonly endpoint: VendorEndpoint;
}

export interface VendorLinesOptions {
  readonly files: FileStore;
  /** Throws GatewayError: the lines fail with it when they run. Undefined: the target has no batches any more. */
  readonly targetOf: (job: StoredJob) => VendorTarget | undefined;
  /** The upstream requests of a line, and its estimated tokens. Throws GatewayError if it is invalid. */
  readonly plan: (
    line: JobLine,
    target: VendorTarget,
  ) => Promise<{ readonly requests: readonly UpstreamRequest[]; readonly tokens: number }>;
  /** Lines without a result of the vendor run now. False: they fail. */
  readonly runsNow: (job: StoredJob) => boolean;
  readonly notRun: (ending: StoredJob["ending"]) => GatewayError;
  readonly budget: VendorBudget;
  /** Other processes may hold the budget of a range. */
  readonly isShared: boolean;
  readonly log: Pick<Log, "warn">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const retryMs = 3000;
/** How long a canceled batch may take to end. */
const cancelMs = 15 * 60_000;
const [minPollMs, maxPollMs] = [1000, 60_000];

type Ended = Extract<VendorStatus, { kind: "ended" }>;
type Creating = Extract<VendorState, { kind: "creating" }>;
type Created = Extract<VendorState, { kind: "created" }>;
interface Results {
  readonly kind: "results";
  readonly sent: Created;
  readonly status: Ended;
}
type Step = Exclude<VendorState, Creating | Created> | Results;

/** `plain`: the lines as they would run now. */
export type VendorLines = <L extends NumberedLine>(
  range: ClaimedRange,
  plain: () => AsyncIterable<L>,
  record: RecordVendorBatch,
) => AsyncGenerator<L>;

export const createVendorLines =
  (options: VendorLinesOptions): VendorLines =>
  (range, plain, record) =>
    new VendorRange(options, range, plain, record).lines();

class VendorRange<L extends NumberedLine> {
  readonly #options: VendorLinesOptions;
  readonly #range: ClaimedRange;
  readonly #plain: () => AsyncIterable<L>;
  readonly #record: RecordVendorBatch;

  constructor(
    options: VendorLinesOptions,
    range: ClaimedRange,
    plain: () => AsyncIterable<L>,
    record: RecordVendorBatch,
  ) {
    this.#options = options;
    this.#range = range;
    this.#plain = plain;
    this.#record = record;
  }

  get #name() {
    return { jobId: this.#range.job.id, number: this.#range.number };
  }

  #fileName(what: "input" | "results"): string {
    return `${jobFolder(this.#range.job.id)}/vendor-${this.#range.number}.${what}`;
  }

  async *lines(): AsyncGenerator<L> {
    const { targetOf, budget, isShared } = this.#options;
    const { job } = this.#range;
    if (isShared) await budget.sweep();
    const before = readState(this.#range.vendorBatch);
    // Nothing was sent, and nothing is: the lines end with the reason.
    if (job.ending && !before) return yield* this.#plain();
    let at: VendorTarget | undefined;
    try {
      at = targetOf(job);
    } catch (error) {
      // The key or the model is gone: the lines fail with the reason when they run.
      if (error instanceof GatewayError) return yield* this.#plain();
      throw error;
    }
    if (!at) return yield* this.#failed("the model has no upstream with batches any more");
    const step = await this.#advance(at, before);
    if (step.kind === "results") return yield* this.#results(at, step);
    budget.release(this.#name);
    if (step.kind === "refused") yield* this.#failed(step.reason);
    else yield* this.#plain();
  }

  async *#failed(reason: string): AsyncGenerator<L> {
    for await (const line of this.#plain())
      yield this.#mayRun ? line : { ...line, failure: failedError(reason) };
  }

  /** A line without a result of the vendor runs now, or ends because the job ends. */
  get #mayRun(): boolean {
    const { job } = this.#range;
    return job.ending !== null || this.#options.runsNow(job);
  }

  /** One step. Throws RangeWaits while the vendor works. */
  async #advance(at: VendorTarget, before: VendorState | undefined): Promise<Step> {
    try {
      const state = !before || before.kind === "creating" ? await this.#create(at, before) : before;
      if (state.kind !== "created") return state;
      return { kind: "results", sent: state, status: await this.#poll(at, state) };
    } catch (error) {
      if (error instanceof VendorRefusal || (error instanceof VendorError && !error.isTemporary))
        return this.#save({ kind: "refused", reason: error.message });
      throw error instanceof VendorError ? this.#tryAgain(error) : error;
    }
  }

  /** The vendor, or the storage, does not respond as it should. */
  #tryAgain(error: Error): RangeWaits {
    const { log, now } = this.#options;
    log.warn("vendor-batch-delayed", { job: this.#range.job.id, reason: error.message });
    return new RangeWaits(now() + retryMs);
  }

  async #save<S extends VendorState>(state: S): Promise<S> {
    await this.#record(JSON.stringify(state));
    return state;
  }

  /** `creating`: an earlier process may have created the batch. */
  async #create(
    at: VendorTarget,
    creating: Creating | undefined,
  ): Promise<Exclude<VendorState, Creating>> {
    const { api, endpoint } = at;
    const found = creating && (await api.find(endpoint, creating.name).catch(noneIfRefused));
    if (creating && found) return this.#save({ ...creating, kind: "created", id: found });
    const { files, now } = this.#options;
    const { job, number } = this.#range;
    const input = new VendorInput(api);
    const inputName = this.#fileName("input");
    try {
      let tokens = 0;
      const planned = this.#planned(at, (count) => {
        tokens += count;
      });
      const size = await files.write(inputName, input.write(planned));
      if (input.isEmpty) return await this.#save({ kind: "unneeded" });
      const dollars = dollarsOf(tokens, at.target, at.priceFactor);
      await this.#hold(at, dollars);
      const name = `vexel-${job.id}-${number}`;
      const open = (): AsyncIterable<Uint8Array> => readStored(files, inputName);
      const fileId = await api.upload(endpoint, { size, open }, name);
      const { upstream, model } = at.target;
      const sent = { upstream: upstream.id, model, skipped: input.skipped, dollars, at: now() };
      await this.#save({ ...sent, kind: "creating", name });
      const id = await api.create(endpoint, { fileId, name, shared: input.shared });
      return await this.#save({ ...sent, kind: "created", id });
    } finally {
      await files.remove(inputName);
    }
  }

  async *#planned(at: VendorTarget, onTokens: (count: number) => void) {
    for await (const line of this.#plain()) {
      const plan = async () => {
        const { requests, tokens } = await this.#options.plan(line, at);
        if (requests.length > 0) onTokens(tokens);
        return requests;
      };
      yield { line: line.number, plan };
    }
  }

  /** A budget that is exhausted for now delays the batch. Throws GatewayError. */
  async #hold(at: VendorTarget, dollars: number | null): Promise<void> {
    const { budget, now } = this.#options;
    try {
      await budget.hold(this.#name, at, dollars);
    } catch (error) {
      if (error instanceof GatewayError && error.definition.retry === "later")
        throw new RangeWaits(now() + retryMs);
      if (error instanceof GatewayError) throw new VendorRefusal(error.message);
      throw error;
    }
  }

  async #poll(at: VendorTarget, state: Created): Promise<Ended> {
    const { now, isShared, budget } = this.#options;
    const { job } = this.#range;
    const since = state.cancelledAt ?? job.deadline;
    if (job.ending && now() > since + cancelMs)
      return { kind: "ended", outcome: "cancelled", files: [] };
    const status = await at.api.poll(at.endpoint, state.id).catch(statusOfError);
    if (status.kind === "ended") return status;
    if (job.ending) await this.#cancel(at, state);
    // After a restart. The batch is on its way, whether or not it fits into the budget now.
    else if (!isShared) await budget.hold(this.#name, at, state.dollars).catch(() => undefined);
    const ageMs = now() - state.at;
    throw new RangeWaits(now() + Math.min(Math.max(ageMs / 10, minPollMs), maxPollMs));
  }

  async #cancel(at: VendorTarget, state: Created): Promise<void> {
    if (state.cancelledAt === undefined)
      await this.#save({ ...state, cancelledAt: this.#options.now() });
    await at.api.cancel(at.endpoint, state.id).catch((error: unknown) => {
      // It is being canceled, or has ended: the next poll shows it.
      if (!(error instanceof VendorError)) throw error;
    });
  }

  async *#results(at: VendorTarget, { sent, status }: Results): AsyncGenerator<L> {
    const { budget } = this.#options;
    const results = await this.#openResults(at, status);
    const skipped = new Set(sent.skipped);
    const { target, priceFactor, api } = at;
    const discounted = withDiscount(target, priceFactor);
    const paid = { target: discounted, priceFactor, reservation: budget.charge(this.#name, at) };
    for await (const line of this.#plain()) {
      const { number } = line;
      if (results.has(number))
        yield { ...line, vendor: new ResultLine(paid, api, results, number) };
      else if (skipped.has(number) || this.#mayRun) yield line;
      else yield { ...line, failure: this.#missing(status) };
    }
  }

  async #openResults(at: VendorTarget, { files: fileIds }: Ended): Promise<VendorResults> {
    const { files, now } = this.#options;
    try {
      return await VendorResults.open(files, this.#fileName("results"), at.api, () =>
        download(at.api, at.endpoint, fileIds),
      );
    } catch (error) {
      const isExternal = error instanceof VendorError || error instanceof GatewayError;
      if (isExternal && now() < this.#range.job.deadline + cancelMs) throw this.#tryAgain(error);
      throw error instanceof VendorError ? failedError(error.message) : error;
    }
  }

  #missing({ outcome, reason }: Ended): GatewayError {
    if (outcome === "completed")
      return invalidResponse("the vendor's batch has no result for this line");
    if (outcome === "expired") return this.#options.notRun("expired");
    return failedError(reason ?? `it was ${outcome}`);
  }
}

const failedError = (reason: string): GatewayError =>
  new GatewayError("vendor_batch_failed", `The batch at the vendor failed: ${reason}`);
