/**
 * What is recorded of an image line before and while it is sent, so that it is never paid for twice: the intent before
 * the upstream request, and the job of an upstream whose API is a queue. After a crash, a line with such a job is polled
 * again; a line without one may have been billed, and is not sent again.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { createSerialize } from "../lib/tasks.ts";
import { clientClosedError } from "../request/deadline.ts";
import type { Priority } from "../request/http-types.ts";
import type { JobLineContext, VendorLine } from "../request/job-line.ts";
import type { SecretBox } from "../storage/encrypt-secret.ts";
import type { JobStore } from "../storage/sql/job-store.ts";
import type { RangeClaim } from "../storage/sql/stored-job.ts";
import type { PendingJob } from "../upstream/adapter.ts";
import type { Target } from "../upstream/contract.ts";

interface UpstreamJob {
  /** The id of the upstream, and its own name for the model. */
  readonly upstream: string;
  readonly model: string;
  /** The poll request has the API key of the upstream, so it is encrypted. */
  readonly job: string;
}

/** What `job_ranges.intent` stores. */
interface Intent {
  /** Upstream requests that were sent, or were about to be. */
  readonly sent: number;
  readonly jobs: readonly UpstreamJob[];
}

interface LineContextOptions {
  readonly requestId: string;
  readonly claim: RangeClaim;
  readonly store: Pick<JobStore, "recordIntent">;
  readonly secrets: Pick<SecretBox, "encrypt" | "decrypt">;
  readonly priority: Priority;
  readonly isReserved: boolean;
  readonly vendor: VendorLine | undefined;
  readonly fingerprint: string | undefined;
  /** The upstream's job is on disk, so a crash does not lose it: its cost is charged when it ends. */
  readonly onRecorded: () => void;
  /** US dollars. */
  readonly onCost: (dollars: number) => void;
  /** The intent of an earlier process. Null: nothing was sent. */
  readonly intent: string | null;
  /** Aborted when the gateway stops. */
  readonly stopping: AbortSignal;
  /** Aborted when the job ends early: a line that is not sent yet never is. Undefined: the line goes on. */
  readonly ending: AbortSignal | undefined;
}

export class LineContext implements JobLineContext {
  readonly #options: LineContextOptions;
  readonly #inTurn = createSerialize();
  readonly #resumed: UpstreamJob[] | undefined;
  readonly #aborted = new AbortController();
  #sent = 0;
  #jobs: UpstreamJob[] = [];

  constructor(options: LineContextOptions) {
    this.#options = options;
    options.stopping.addEventListener("abort", this.#onStopping, { once: true });
    options.ending?.addEventListener("abort", this.#onEnding, { once: true });
    if (options.intent === null) return;
    const { sent, jobs } = JSON.parse(options.intent) as Intent;
    this.#sent = sent;
    this.#jobs = [...jobs];
    this.#resumed = [...jobs];
  }

  get priority(): Priority {
    return this.#options.priority;
  }

  get isReserved(): boolean {
    return this.#options.isReserved;
  }

  get vendor(): VendorLine | undefined {
    return this.#options.vendor;
  }

  /** A line that is resumed was claimed by the process that sent it. */
  get fingerprint(): string | undefined {
    return this.#resumed ? undefined : this.#options.fingerprint;
  }

  get requestId(): string {
    return this.#options.requestId;
  }

  get wasSent(): boolean {
    return this.#sent > 0;
  }

  /** Another process can poll every upstream job of the line. */
  get isResumable(): boolean {
    return this.#sent > 0 && this.#jobs.length === this.#sent;
  }

  get keepsUpstreamJob(): boolean {
    return this.#options.stopping.aborted;
  }

  /**
   * Aborted when the gateway stops and the next process can go on, which polls every upstream job of the line, or when
   * the job ends before the line is sent.
   */
  get signal(): AbortSignal {
    return this.#aborted.signal;
  }

  /** The line has ended. */
  end(): void {
    this.#options.stopping.removeEventListener("abort", this.#onStopping);
    this.#options.ending?.removeEventListener("abort", this.#onEnding);
  }

  readonly #onStopping = (): void => {
    if (this.isResumable) this.#aborted.abort(continuesLater());
  };

  readonly #onEnding = (): void => {
    if (!this.wasSent) this.#aborted.abort(clientClosedError({ notSent: true }));
  };

  addCost(dollars: number | undefined): void {
    if (dollars !== undefined) this.#options.onCost(dollars);
  }

  async beforeSend(): Promise<void> {
    // What an earlier process sent besides its upstream jobs may have been billed.
    if (this.#resumed) throw interruptedError();
    this.signal.throwIfAborted();
    this.#sent++;
    await this.#record();
  }

  async onUpstreamJob({ upstream, model }: Target, job: PendingJob): Promise<void> {
    const { secrets, claim, onRecorded } = this.#options;
    const encrypted = secrets.encrypt(JSON.stringify(job), claim.jobId);
    this.#jobs.push({ upstream: upstream.id, model, job: encrypted });
    try {
      await this.#record();
    } catch {
      // The upstream works on the image, so this process polls it. Only a crash would lose it.
      return;
    }
    onRecorded();
    if (this.keepsUpstreamJob) this.#onStopping();
  }

  takeUpstreamJob(target: Target): PendingJob | undefined {
    const at = this.#resumed?.findIndex((job) => isAt(job, target)) ?? -1;
    const [found] = at < 0 ? [] : (this.#resumed?.splice(at, 1) ?? []);
    if (!found) return undefined;
    const { secrets, claim } = this.#options;
    try {
      return JSON.parse(secrets.decrypt(found.job, claim.jobId)) as PendingJob;
    } catch {
      // Encrypted with a secret that this process does not know.
      throw interruptedError();
    }
  }

  permitted<C extends { readonly target: Target }>(candidates: readonly C[]): readonly C[] {
    if (!this.#resumed) return candidates;
    const known = candidates.filter(({ target }) => this.#jobs.some((job) => isAt(job, target)));
    // The target was removed from the configuration meanwhile.
    if (known.length === 0) throw interruptedError();
    return known;
  }

  async #record(): Promise<void> {
    const { store, claim } = this.#options;
    const record = (): Promise<boolean> => {
      const intent: Intent = { sent: this.#sent, jobs: this.#jobs };
      return store.recordIntent(claim, JSON.stringify(intent));
    };
    let isHeld: boolean;
    try {
      isHeld = await this.#inTurn(record);
    } catch (cause) {
      throw notRecordedError(cause);
    }
    if (!isHeld) throw claimLostError();
  }
}

const isAt = ({ upstream, model }: UpstreamJob, target: Target): boolean =>
  upstream === target.upstream.id && model === target.model;

/** An intent without an upstream job: whether the line was billed is unknown. */
export const isUnknown = (intent: string): boolean =>
  (JSON.parse(intent) as Intent).jobs.length === 0;

export const interruptedError = (): GatewayError =>
  new GatewayError(
    "job_interrupted",
    "The gateway stopped while the image was generated, and the image is lost. It may have been billed, so it is not generated again. Submit a new job to generate it again.",
    { mayBeBilled: true },
  );

/** The line is tried again. */
const notRecordedError = (cause: unknown): GatewayError =>
  new GatewayError("storage_unavailable", "The job cannot be recorded, so nothing was sent.", {
    cause,
    notSent: true,
    retryAfterMs: 5000,
  });

/** The process that continues the job charges its cost. */
const continuesLater = (): GatewayError =>
  new GatewayError("shutting_down", "The next process continues the job.", { notSent: true });

/** Another process has the range now. */
const claimLostError = (): GatewayError =>
  new GatewayError("job_interrupted", "Another process continues the job.", { notSent: true });
