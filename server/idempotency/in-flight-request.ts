/**
 * An image request in flight: it records its response for concurrent duplicates that wait for it and for later retries.
 */
import { createHash } from "node:crypto";
import { GatewayError } from "../lib/gateway-error.ts";
import type { StreamedJson } from "../lib/json-stream.ts";
import type { StreamChunk } from "../request/http-types.ts";
import type { ResponseMetadata, ResponseWriter } from "../storage/ports/response-store.ts";
import type { ClaimOutcome } from "../storage/redis/request-claims.ts";

export interface ClaimOptions {
  /** The ID of the client's API key. A response is never replayed to another API key. */
  readonly owner: string;
  readonly requestId: string;
  readonly idempotencyKey?: string;
  /** The client's own ID for the request (x-client-request-id). */
  readonly clientRequestId?: string;
  readonly fingerprint: () => Promise<string>;
  readonly signal: AbortSignal;
}

/** A failed request whose error is also the response to the duplicates that waited for it. */
export interface FailedRequest {
  readonly requestId: string;
  readonly error: GatewayError;
}

/** The store that this request belongs to: it has the waiters, and records the response. */
export interface InFlightRequests {
  register(name: string, request: InFlightRequest): void;
  unregister(name: string, request: InFlightRequest): void;
  addUndelivered(options: ClaimOptions, fingerprint: string): void;
  removeUndelivered(options: ClaimOptions): void;
  /** Throws the file system's errors. */
  startRecording(owner: string): ResponseWriter;
  reportStorageError(error: unknown): void;
}

export class InFlightRequest {
  readonly #store: InFlightRequests;
  readonly #options: ClaimOptions;
  #fingerprint: string | undefined;
  readonly #names = new Set<string>();
  #settlement = Promise.withResolvers<FailedRequest | undefined>();
  #writer: ResponseWriter | undefined;
  #isIncomplete = false;
  #isSettled = false;
  #isStored = false;
  /** The log says already why the response could not be stored. */
  #isErrorReported = false;
  /** Settles the claim that replicas share. */
  #settleClaim: ((outcome: ClaimOutcome) => void) | undefined;

  constructor(store: InFlightRequests, options: ClaimOptions, fingerprint: string | undefined) {
    this.#store = store;
    this.#options = options;
    this.#fingerprint = fingerprint;
  }

  get fingerprint(): string | undefined {
    return this.#fingerprint;
  }

  /**
   * Resolves when the request ends, and never rejects: with the failure if the waiters must not send the request again.
   */
  get settled(): Promise<FailedRequest | undefined> {
    return this.#settlement.promise;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** `settle` is called once, when the request ends. */
  setClaim(settle: (outcome: ClaimOutcome) => void): void {
    this.#settleClaim = settle;
  }

  /** If so, the response is stored whether it is delivered or not, because a retry will have the same key. */
  get hasIdempotencyKey(): boolean {
    return this.#options.idempotencyKey !== undefined;
  }

  register(names: readonly string[]): void {
    // The request had settled, but its response was not delivered: new waiters wait for the next settlement.
    if (this.#isSettled) {
      this.#isSettled = false;
      this.#settlement = Promise.withResolvers();
    }
    for (const name of names) {
      this.#names.add(name);
      this.#store.register(name, this);
    }
  }

  /**
   * Computes the fingerprint while the uploaded files exist. Without it the response cannot be replayed. If a file
   * cannot be read, only the replay is lost, not the request.
   */
  async computeFingerprint(): Promise<string | undefined> {
    try {
      this.#fingerprint ??= await this.#options.fingerprint();
    } catch (error) {
      this.#report(error);
    }
    return this.#fingerprint;
  }

  /** The client disconnected: from now on an identical request may wait for this one. */
  async detach(): Promise<void> {
    const wasSettled = this.#isSettled;
    const fingerprint = await this.computeFingerprint();
    // The request settled meanwhile: a waiter that joined now would wait forever.
    if (fingerprint === undefined || this.#isSettled !== wasSettled) return;
    this.register(idNames(this.#options));
    this.#store.addUndelivered(this.#options, fingerprint);
  }

  append(chunk: StreamChunk): void {
    // A response with a gap must not be replayed: after the first error nothing more is recorded.
    if (this.#isIncomplete) return;
    try {
      this.#writer ??= this.#store.startRecording(this.#options.owner);
      this.#writer.append(chunk);
    } catch (error) {
      this.#isIncomplete = true;
      this.#report(error);
      void this.#discard();
    }
  }

  async appendAll(body: string | Uint8Array | StreamedJson): Promise<void> {
    if (typeof body === "string" || body instanceof Uint8Array) this.append(body);
    else for await (const chunk of body.open()) this.append(chunk);
  }

  /** Stores the recorded response under every registered name. */
  async store(headers: ResponseMetadata["headers"]): Promise<void> {
    const { requestId } = this.#options;
    const fingerprint = await this.computeFingerprint();
    if (fingerprint === undefined) await this.#discard();
    else await this.#commit({ requestId, fingerprint, headers });
    if (!this.#writer) return this.#endUnstored();
    this.#writer = undefined;
    this.#isStored = true;
    this.settle();
  }

  /** A retry with the same idempotency key is told that the images are billed. Without a key, it is a new request. */
  #endUnstored(): Promise<void> {
    const failure = responseNotStored();
    this.#isErrorReported = true;
    return this.hasIdempotencyKey ? this.abandon(failure) : this.release(failure);
  }

  async #commit(metadata: ResponseMetadata): Promise<void> {
    for (const name of idNames(this.#options)) this.#names.add(name);
    try {
      await this.#writer?.commit([...this.#names], metadata);
    } catch (error) {
      this.#report(error);
      await this.#discard();
    }
  }

  /** Ends without a stored response. Waiters get `failure`; without it, one of them sends the request again. */
  async release(failure?: GatewayError): Promise<void> {
    // A client disconnect is reported as a failure even after the response was stored.
    if (this.#isSettled) return;
    await this.#discard();
    this.#store.removeUndelivered(this.#options);
    this.settle(failure);
  }

  /**
   * Ends without a response although the images may have been billed. Instead of a response, this fact is stored: a
   * retry with the same idempotency key is told so, on any replica and after a restart.
   */
  async abandon(failure: GatewayError): Promise<void> {
    if (this.#isSettled) return;
    await this.#discard();
    const { requestId } = this.#options;
    const fingerprint = await this.computeFingerprint();
    if (fingerprint !== undefined) {
      this.#isIncomplete = false;
      this.append(JSON.stringify(abandonedError().body));
      await this.#commit({ requestId, fingerprint, headers: {}, isAbandoned: true });
    }
    this.#isStored = this.#writer !== undefined;
    this.#writer = undefined;
    // A claim that is not settled would be renewed until the process ends, and its duplicates would wait for it.
    this.settle(failure, { kind: this.#isStored ? "stored" : "abandoned" });
  }

  /** Never rejects: waiters are settled after it. */
  async #discard(): Promise<void> {
    const writer = this.#writer;
    this.#writer = undefined;
    try {
      await writer?.discard();
    } catch (error) {
      this.#report(error);
    }
  }

  #report(error: unknown): void {
    if (!this.#isErrorReported) this.#store.reportStorageError(error);
  }

  settle(failure?: GatewayError, outcome: ClaimOutcome = this.#outcomeOf(failure)): void {
    this.#isSettled = true;
    for (const name of this.#names) this.#store.unregister(name, this);
    const { requestId } = this.#options;
    const error = failure && asNonRetryable(failure);
    this.#settlement.resolve(error && { requestId, error });
    this.#settleClaim?.(outcome);
    this.#settleClaim = undefined;
  }

  #outcomeOf(failure: GatewayError | undefined): ClaimOutcome {
    if (this.#isStored) return { kind: "stored" };
    return failure ? { kind: "failed", error: formatFailure(failure) } : { kind: "released" };
  }
}

/** The failure of a shared claim: it is the error of duplicates on other replicas. */
const formatFailure = ({ kind, message }: GatewayError): string => JSON.stringify([kind, message]);

export function parseFailure(text: string): GatewayError {
  const [kind, message] = JSON.parse(text) as [GatewayError["kind"], string];
  return new GatewayError(kind, message, { overrides: { retry: "never" } });
}

/** No upstream request was sent for a waiter. Nevertheless its client must not retry automatically. */
const asNonRetryable = ({ kind, message, details }: GatewayError): GatewayError =>
  new GatewayError(kind, message, {
    ...details,
    overrides: { ...details.overrides, retry: "never" },
  });

/**
 * The images were generated and billed for the first request. Each waiter that sent the request again would be billed
 * again.
 */
export const responseNotStored = (): GatewayError =>
  unknownOutcomeError(
    "An identical request was processed, but its response could not be stored for this one. Retrying would generate, and bill, the images again.",
  );

export const abandonedError = (): GatewayError =>
  unknownOutcomeError(
    "The images of this Idempotency-Key may have been generated and billed, but there is no response to replay: a gateway stopped while it processed the key, or had no space to store the response. Use a new Idempotency-Key to generate them again.",
  );

/** An earlier request may have been billed, and its response is not known here. */
export const unknownOutcomeError = (message: string): GatewayError =>
  new GatewayError("storage_unavailable", message, { overrides: { retry: "never" } });

/** IDs are compared up to this length, both when they are stored and when they are looked up. */
const maxIdLength = 512;

export const idName = (owner: string, id: string): string =>
  storeName("id", owner, id.slice(0, maxIdLength));

export const idNames = ({ owner, requestId, clientRequestId }: ClaimOptions): string[] => {
  const ids = clientRequestId === undefined ? [requestId] : [requestId, clientRequestId];
  return ids.map((id) => idName(owner, id));
};

/** The name of a response in the response store: a hash, so that it holds no secret and any text is a valid name. */
export const storeName = (...parts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex");
