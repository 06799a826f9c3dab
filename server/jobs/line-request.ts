/**
 * A line of a job in the request pipeline: a request without a connection. An image line is never paid for twice, so
 * the row of its range has the number of its upstream requests, before each is sent, and the operations of upstreams
 * whose API is a queue. After a crash, the operations are polled again. A line without one may have been billed, and is
 * not sent again.
 */
import type { BorrowedBytes } from "../lib/borrowed-bytes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { createSerialize } from "../lib/tasks.ts";
import type { Caller } from "../request/caller.ts";
import { clientClosedError, SignalClient } from "../request/deadline.ts";
import type {
  Form,
  FormPart,
  IncomingRequest,
  OutgoingResponse,
  Priority,
  RequestHeaders,
} from "../request/http-types.ts";
import type { JobLineContext, VendorLine } from "../request/job-line.ts";
import type { SecretBox } from "../storage/encrypt-secret.ts";
import type { JobStore } from "../storage/sql/job-store.ts";
import type { ClaimedRange, LastError, RangeClaim } from "../storage/sql/stored-job.ts";
import type { PendingOperation } from "../upstream/adapter.ts";
import type { Target } from "../upstream/contract.ts";
import type { JobLine } from "./job-kind.ts";

interface LineRequestOptions {
  readonly requestId: string;
  readonly path: string;
  readonly line: JobLine;
  readonly context: JobLineContext;
  /** Aborted when the job is canceled, its time is over, or the gateway stops. */
  readonly signal: AbortSignal;
}

/** Runs a line through the request pipeline. */
export type RunLine = (
  request: Omit<LineRequestOptions, "path">,
  caller: Caller,
) => Promise<OutgoingResponse>;

export const linePaths = {
  embeddings: "/v1/embeddings",
  generations: "/v1/images/generations",
  edits: "/v1/images/edits",
} as const satisfies Record<JobLine["operation"], string>;

function headersOf(
  { tags, idempotency }: JobLine,
  { fingerprint }: JobLineContext,
): RequestHeaders {
  const headers = new Map([["content-type", "application/json"]]);
  if (tags !== undefined) headers.set("vexel-tags", tags);
  if (idempotency && fingerprint !== undefined) headers.set("idempotency-key", idempotency.key);
  return { get: (name) => headers.get(name) ?? null };
}

export class LineRequest extends SignalClient implements IncomingRequest {
  readonly requestId: string;
  readonly method = "POST";
  readonly path: string;
  readonly search = "";
  readonly headers: RequestHeaders;
  /** No client is connected. */
  readonly clientAddress = "";
  readonly publicUrl: string;
  readonly bytesReceived = 0;
  readonly line: JobLineContext;
  readonly #line: JobLine;

  constructor({ requestId, path, line, context, signal }: LineRequestOptions) {
    super(signal);
    this.requestId = requestId;
    this.path = path;
    this.publicUrl = line.publicUrl;
    this.headers = headersOf(line, context);
    this.line = context;
    this.#line = line;
  }

  async json(): Promise<unknown> {
    const { body, refusal } = this.#line;
    if (refusal) throw refusal;
    return body;
  }

  async jsonWithImages(): Promise<unknown> {
    return this.json();
  }

  form(): Promise<Form> {
    throw new GatewayError("internal", "A line of a job has no form.");
  }

  parts(): AsyncIterable<FormPart> {
    throw new GatewayError("internal", "A line of a job has no form.");
  }

  releaseBody(): void {
    // The runner holds the line.
  }
}

/** The body of a response. Its files are deleted when it is closed. */
export const bodyOf = ({ body }: OutgoingResponse) => ({
  body: { [Symbol.asyncIterator]: () => chunksOf(body) },
  close: async (): Promise<void> => {
    if (typeof body === "object" && "close" in body) await body.close(true);
  },
});

async function* chunksOf(body: OutgoingResponse["body"]): AsyncGenerator<BorrowedBytes> {
  if (typeof body === "string") yield Buffer.from(body);
  else if (body instanceof Uint8Array) yield body;
  else if ("open" in body) yield* body.open();
  else for await (const chunk of body) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
}

interface UpstreamOperation {
  /** The id of the upstream, and its own name for the model. */
  readonly upstream: string;
  readonly model: string;
  /** Its estimated cost in US dollars. Absent if no price is known, or if an earlier version recorded it. */
  readonly estimate?: number;
  /** The poll request has the API key of the upstream, so it is encrypted. */
  readonly pending: string;
}

interface LineContextOptions {
  readonly requestId: string;
  readonly claim: RangeClaim;
  readonly store: Pick<JobStore, "recordSent">;
  readonly secrets: Pick<SecretBox, "encrypt" | "decrypt">;
  readonly priority: Priority;
  readonly isReserved: boolean;
  readonly reservedPart: number | undefined;
  readonly vendor: VendorLine | undefined;
  readonly fingerprint: string | undefined;
  /** The upstream's operation is on disk, so a crash does not lose it: its cost is charged when it ends. */
  readonly onRecorded: () => void;
  /** US dollars. */
  readonly onCost: (dollars: number) => void;
  /** What an earlier process has sent of the line. */
  readonly earlier: Pick<ClaimedRange, "sent" | "upstreamOperations">;
  /** Aborted when the gateway stops. */
  readonly stopping: AbortSignal;
  /** Aborted when the job ends early: a line that is not sent yet never is. Undefined if the line goes on. */
  readonly ending: AbortSignal | undefined;
}

export class LineContext implements JobLineContext {
  readonly #options: LineContextOptions;
  readonly requestId: string;
  readonly priority: Priority;
  readonly isReserved: boolean;
  readonly reservedPart: number | undefined;
  readonly vendor: VendorLine | undefined;
  readonly #inTurn = createSerialize();
  readonly #resumed: UpstreamOperation[] | undefined;
  readonly #aborted = new AbortController();
  /** Of its request. Undefined if it has not failed. */
  error: LastError | undefined;
  #sent = 0;
  /** Requests that were not sent again. Each is charged its estimate as an attempt. */
  #interrupted = 0;
  #operations: UpstreamOperation[] = [];

  constructor(options: LineContextOptions) {
    this.#options = options;
    this.requestId = options.requestId;
    this.priority = options.priority;
    this.isReserved = options.isReserved;
    this.reservedPart = options.reservedPart;
    this.vendor = options.vendor;
    options.stopping.addEventListener("abort", this.#onStopping, { once: true });
    options.ending?.addEventListener("abort", this.#onEnding, { once: true });
    const { sent, upstreamOperations } = options.earlier;
    if (sent === 0) return;
    const operations = JSON.parse(upstreamOperations ?? "[]") as UpstreamOperation[];
    this.#sent = sent;
    this.#operations = [...operations];
    this.#resumed = [...operations];
  }

  /** A line that is resumed was claimed by the process that sent it. */
  get fingerprint(): string | undefined {
    return this.#resumed ? undefined : this.#options.fingerprint;
  }

  get wasSent(): boolean {
    return this.#sent > 0;
  }

  /** Another process can poll every operation of the line at an upstream. */
  get isResumable(): boolean {
    return this.#sent > 0 && this.#operations.length === this.#sent;
  }

  /** The requests of an earlier process, without those that are polled, or that ended as interrupted attempts. */
  get lost(): JobLineContext["lost"] {
    if (!this.#resumed || (this.keepsUpstreamOperation && this.isResumable)) return undefined;
    const polled = this.#operations.length - this.#resumed.length;
    const count = this.#sent - polled - this.#interrupted;
    if (count <= 0) return undefined;
    const [estimate] = this.#operations.map((each) => each.estimate);
    return { estimate: estimate === undefined ? undefined : count * estimate };
  }

  get keepsUpstreamOperation(): boolean {
    return this.#options.stopping.aborted;
  }

  /**
   * Aborted when the gateway stops and the next process can go on, which polls every operation of the line at an
   * upstream, or when the job ends before the line is sent.
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

  requestEnded(dollars: number | undefined, error: LastError | undefined): void {
    if (dollars !== undefined) this.#options.onCost(dollars);
    this.error = error;
  }

  async beforeSend(): Promise<void> {
    // What an earlier process sent besides these operations may have been billed.
    if (this.#resumed) {
      this.#interrupted++;
      throw interruptedError();
    }
    this.signal.throwIfAborted();
    this.#sent++;
    await this.#record();
  }

  async onUpstreamOperation(
    { upstream, model }: Target,
    pending: PendingOperation,
    estimate: number | undefined,
  ): Promise<void> {
    const { secrets, claim, onRecorded } = this.#options;
    const encrypted = secrets.encrypt(JSON.stringify(pending), claim.jobId);
    this.#operations.push({
      upstream: upstream.id,
      model,
      ...(estimate !== undefined && { estimate }),
      pending: encrypted,
    });
    try {
      await this.#record();
    } catch {
      // The upstream works on the image, so this process polls it. Only a crash would lose it.
      return;
    }
    onRecorded();
    if (this.keepsUpstreamOperation) this.#onStopping();
  }

  takeUpstreamOperation(target: Target): PendingOperation | undefined {
    const at = this.#resumed?.findIndex((each) => isAt(each, target)) ?? -1;
    const [found] = at < 0 ? [] : (this.#resumed?.splice(at, 1) ?? []);
    if (!found) return undefined;
    const { secrets, claim } = this.#options;
    try {
      return JSON.parse(secrets.decrypt(found.pending, claim.jobId)) as PendingOperation;
    } catch {
      // Encrypted with a secret that this process does not know.
      throw interruptedError();
    }
  }

  permitted<C extends { readonly target: Target }>(candidates: readonly C[]): readonly C[] {
    if (!this.#resumed) return candidates;
    const known = candidates.filter(({ target }) =>
      this.#operations.some((each) => isAt(each, target)),
    );
    // The target was removed from the configuration meanwhile.
    if (known.length === 0) throw interruptedError();
    return known;
  }

  async #record(): Promise<void> {
    const { store, claim } = this.#options;
    const record = (): Promise<boolean> => {
      const operations = this.#operations.length > 0 ? JSON.stringify(this.#operations) : null;
      return store.recordSent(claim, this.#sent, operations);
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

const isAt = ({ upstream, model }: UpstreamOperation, target: Target): boolean =>
  upstream === target.upstream.id && model === target.model;

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
