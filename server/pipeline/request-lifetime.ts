/**
 * The lifetime of a request: the one owner of everything it holds, so that nothing leaks (load shedder slot, admission
 * ticket, budget reservation, deadline, uploads, temp storage, idempotency claim, memory of the body and of a large
 * response, stored content). `settle` writes the ledger row and releases the counters; `clearFiles` releases the files.
 * Each happens once, on every exit path, and a failed release is logged and does not stop the others.
 */
import { IdempotentRequest } from "../idempotency/idempotent-request.ts";
import type { ReplayContext } from "../images/image-links.ts";
import type { Settled } from "../ledger/ledger.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { AdmissionTicket } from "../limits/admission.ts";
import type { LoadShedder } from "../limits/load-shedder.ts";
import type { LimitedQuery } from "../limits/request-demand.ts";
import type { MemoryRequest } from "../limits/response-memory.ts";
import type { Caller, PermittedModel } from "../request/caller.ts";
import {
  Deadline,
  type RequestClient,
  SignalClient,
  shuttingDownError,
} from "../request/deadline.ts";
import type { IncomingRequest, OutgoingResponse, Priority } from "../request/http-types.ts";
import type { RequestRecord } from "../request/request-record.ts";
import { noRequestTemp, type RequestTemp } from "../temp-storage/request-temp.ts";
import type { PipelineServices } from "./dependencies.ts";
import { RecordedContent } from "./record-content.ts";

/** Where a request comes from: an HTTP request, or the gateway itself. */
interface RequestSource {
  /** Bytes of the request body received so far. */
  readonly bytesReceived: number;
  /** Releases the memory of the request body. */
  releaseBody?(): void;
}

type Release = (lifetime: RequestLifetime, error: GatewayError | undefined) => void;

export class RequestLifetime {
  readonly services: PipelineServices;
  /** The ledger row is made from it. */
  readonly record: RequestRecord;
  /** Temp storage for large values, until the request ends. */
  temp: RequestTemp = noRequestTemp;
  /** Image requests: whether an identical request was made before, and what happens if the client disconnects. */
  idempotent: IdempotentRequest | undefined;
  /** Rate limits and concurrency slots. Undefined where no limit applies. */
  ticket: AdmissionTicket | undefined;
  /** Undefined if the request is part of another, which is counted already. */
  readonly #loadShedder: LoadShedder | undefined;
  readonly #source: RequestSource;
  #deadline: Deadline | undefined;
  /** The API key whose slot of the load shedder the request holds. */
  #loadSlotKey: string | undefined;
  #uploads: { dispose?(): Promise<void> } | undefined;
  #settling: Promise<Settled> | undefined;
  #clearing: Promise<void> | undefined;
  #isHandedOver = false;
  #content: RecordedContent | undefined;
  #releaseMemory: (() => void) | undefined;

  constructor(
    services: PipelineServices,
    loadShedder: LoadShedder | undefined,
    record: RequestRecord,
    source: RequestSource,
  ) {
    this.services = services;
    this.record = record;
    this.#loadShedder = loadShedder;
    this.#source = source;
  }

  /** The load shedder admits the authenticated request, or throws GatewayError. */
  admitLoad(caller: Caller, priority: Priority): void {
    this.#loadShedder?.admit(caller.id, priority);
    this.#loadSlotKey = caller.id;
  }

  /** Gives the slot of the load shedder back. A second call does nothing. */
  #endLoad(): void {
    if (this.#loadSlotKey !== undefined) this.#loadShedder?.release(this.#loadSlotKey);
    this.#loadSlotKey = undefined;
  }

  /** Takes over the uploaded files of the request. */
  ownFiles(uploads: { dispose?(): Promise<void> }): void {
    this.#uploads = uploads;
  }

  /** Opens temp storage, which costs nothing until it is used. */
  openTemp(caller: Caller): void {
    this.temp = this.services.createTemp(caller.id);
  }

  /** Opens temp storage and the idempotent request. Nothing is claimed yet. */
  openIdempotent(
    caller: Caller,
    model: PermittedModel,
    query: LimitedQuery,
    incoming: IncomingRequest,
  ): IdempotentRequest {
    const { idempotencyStore } = this.services;
    this.openTemp(caller);
    this.idempotent = new IdempotentRequest({
      store: idempotencyStore,
      incoming,
      record: this.record,
      query,
      // A job that is canceled cancels its lines.
      finishOnDisconnect: !incoming.line && model.onDisconnect !== "cancel",
      retryPaid: model.retryPaid === true,
    });
    return this.idempotent;
  }

  /** Stores the request, for a model with `storeContent`. `finish` adds the response. */
  async recordContent(model: PermittedModel, query: LimitedQuery): Promise<void> {
    this.#content = new RecordedContent(this.services.content, model.id, this.record.requestId);
    await this.#content.recordRequest(query);
  }

  /** Reserves memory for a large response. Returns how long the request waited for it, in milliseconds. */
  async reserveMemory(request: MemoryRequest): Promise<number> {
    const { responseMemory, clock } = this.services;
    const began = clock();
    await responseMemory.reserve(request);
    const { keyId, bytes } = request;
    this.#releaseMemory = () => responseMemory.release(keyId, bytes);
    return clock() - began;
  }

  /** The response body owns the reserved memory from now on, and releases it once. Undefined if there is none. */
  takeMemory(): (() => void) | undefined {
    const release = this.#releaseMemory;
    this.#releaseMemory = undefined;
    return release;
  }

  /**
   * Starts the request timeout. The signal fires at the timeout and when the client disconnects. Throws GatewayError
   * for an image request after the drain. `isImage`: the request is for images, and not part of another.
   */
  startDeadline(timeoutMs: number, client: RequestClient, isImage: boolean): Deadline {
    this.#deadline = new Deadline({
      client: isImage ? this.#imageClient(client) : client,
      timeoutMs,
      clock: this.services.clock,
    });
    if (isImage) this.services.admittedImages.add(this.#deadline);
    return this.#deadline;
  }

  get #hasTemp(): boolean {
    return this.temp !== noRequestTemp;
  }

  /**
   * The end of the gateway counts as a disconnect: the client of an image that may have been billed gets an error that
   * says so, while its connection is still open. A request that continues without its client has no other disconnect.
   */
  #imageClient({ signal }: RequestClient): RequestClient {
    const { closing } = this.services;
    const finishes = this.idempotent?.finishesOnDisconnect === true;
    return new SignalClient(finishes ? closing : AbortSignal.any([signal, closing]));
  }

  /** Cancels the upstream request when the request ends. */
  cancelAtEnd(): void {
    this.#deadline?.abortAtEnd();
  }

  /** Undefined before the deadline has started, and if no stage has used its signal. */
  get signal(): AbortSignal | undefined {
    return this.#deadline?.usedSignal;
  }

  /** What a replayed response needs to keep its links readable. Undefined if the response is not stored. */
  replayContext(): ReplayContext | undefined {
    return this.#deadline && this.idempotent?.replayContext(this.#deadline.signal, this.temp);
  }

  get isSettled(): boolean {
    return this.#settling !== undefined;
  }

  /**
   * The end of every request: writes the ledger row, then releases every counter. Nothing that fails on the way keeps
   * the row from being written or another resource from being released. A second call returns the first result.
   */
  settle(status: number, error?: GatewayError): Promise<Settled> {
    this.#settling ??= this.#settle(status, error);
    return this.#settling;
  }

  async #settle(status: number, ended: GatewayError | undefined): Promise<Settled> {
    const { record } = this;
    const error = this.#causeOf(ended);
    const { clock, ledger } = this.services;
    const lost = record.line?.lost;
    if (lost) record.charge.add({ billed: "maybe", cost: undefined, ...lost });
    record.end(status, error, clock(), this.#source.bytesReceived);
    const { error: code, errorMessage: message } = record.outcome;
    const failure = code === undefined ? undefined : { code, message: message ?? "" };
    const hasRow = record.caller !== undefined && !isUndelivered(record, error);
    record.line?.requestEnded(hasRow ? record.charged : undefined, failure);
    this.logIfThrows(RequestLifetime.#endDeadline);
    // In the turn of the row, which charges the budgets.
    if (record.reservation) this.logIfThrows(RequestLifetime.#releaseReservation);
    try {
      if (!record.caller || !hasRow) return "settled";
      return await ledger.settle(record.ledgerRow(record.caller));
    } catch (failure) {
      // The client gets this error instead of the response. The log line and the ledger row have the same error.
      if (!error && failure instanceof GatewayError) record.addLedgerFailure(failure);
      throw failure;
    } finally {
      this.#releaseCounters(error);
    }
  }

  /** At its end the gateway closes the connections that are left: their clients have not closed them. */
  #causeOf(error: GatewayError | undefined): GatewayError | undefined {
    const isCutOff = error?.kind === "client_closed" && this.services.closing.aborted;
    return isCutOff ? shuttingDownError(error.details) : error;
  }

  #releaseCounters(error: GatewayError | undefined): void {
    for (const release of RequestLifetime.#releases) this.logIfThrows(release, error);
  }

  static readonly #endDeadline: Release = (lifetime) => lifetime.#deadline?.end();

  static readonly #releaseReservation: Release = ({ record }) => record.reservation?.release();

  /** In order; each runs even if another throws. One list for all requests, so that no request allocates closures. */
  static readonly #releases: readonly Release[] = [
    // Again: if the first release failed, the reservation would count against the budget forever.
    RequestLifetime.#releaseReservation,
    ({ record, ticket }, error) =>
      ticket?.release({
        usage: record.usage,
        inputPixels: record.embeddings.inputPixels,
        moreTokens: record.embeddings.moreTokens,
        wasSent: record.wasSent(error),
        error,
      }),
    (lifetime) => lifetime.takeMemory()?.(),
    (lifetime) => lifetime.#source.releaseBody?.(),
    (lifetime) => lifetime.#endLoad(),
    ({ services, record }, error) => services.report(record, error),
  ];

  /** Releases the idempotency claim, if it is still held, and the files of a request that failed. Never rejects. */
  async releaseFailed(error: GatewayError): Promise<void> {
    // The claim is released before the files, because the fingerprint of an abandoned claim is read from them.
    const { idempotent } = this;
    if (idempotent) await this.logIfRejects(() => idempotent.release(error));
    if (this.hasFiles) await this.clearFiles();
  }

  /** Uploads, or temp storage. */
  get hasFiles(): boolean {
    return this.#uploads?.dispose !== undefined || this.#hasTemp;
  }

  /** Uploads and temp storage. Never rejects. A second call waits for the first. */
  clearFiles(): Promise<void> {
    this.#clearing ??= this.#clearFiles();
    return this.#clearing;
  }

  async #clearFiles(): Promise<void> {
    await Promise.all([
      this.logIfRejects(async () => this.#uploads?.dispose?.()),
      this.logIfRejects(() => this.temp.clear()),
    ]);
    if (this.#deadline) this.services.admittedImages.delete(this.#deadline);
  }

  /** The response body owns the request from now on: it settles it and clears its files when it ends. */
  handOver(): void {
    this.#isHandedOver = true;
  }

  /** The request still holds a resource that no response body owns. */
  get isOpen(): boolean {
    if (this.#content !== undefined) return true;
    if (this.#isHandedOver) return false;
    return !this.isSettled || (this.hasFiles && this.#clearing === undefined);
  }

  /** Releases every resource that is still held: a safety net for bugs in earlier steps. Never rejects. */
  async close(): Promise<void> {
    const error = new GatewayError("internal", "The request ended without a response.");
    if (!this.isSettled) {
      await this.logIfRejects(() => this.settle(error.definition.status, error));
    }
    await this.releaseFailed(error);
    this.logIfThrows(() => this.#takeContent()?.discard());
  }

  /**
   * The last step of every HTTP response: adds the rate limit headers, with the remainder of each limit, and stores the
   * content. Never throws: the response already holds resources, so an error must not replace it.
   */
  finish(response: OutgoingResponse): OutgoingResponse {
    const { caller, permittedModel } = this.record;
    if (caller && (caller.scopes || permittedModel?.scopes)) {
      this.logIfThrows(() =>
        this.services.admission.writeHeaders(caller, permittedModel, response.headers),
      );
    }
    const content = this.#takeContent();
    return content ? this.#recordResponse(content, response) : response;
  }

  /** The body of the returned response owns the content: it is complete when the body ends. */
  #recordResponse(content: RecordedContent, response: OutgoingResponse): OutgoingResponse {
    let recorded = response;
    this.logIfThrows(() => {
      recorded = content.recordResponse(response);
    });
    return recorded;
  }

  #takeContent(): RecordedContent | undefined {
    const content = this.#content;
    this.#content = undefined;
    return content;
  }

  /** Runs one release. Its failure is logged and never thrown: the releases after it must run as well. */
  logIfThrows(release: Release, error?: GatewayError): void {
    try {
      release(this, error);
    } catch (failure) {
      this.services.onInternalError(this.record.requestId, failure);
    }
  }

  /** Like `logIfThrows`, for a release that is asynchronous. */
  async logIfRejects(release: () => Promise<unknown>): Promise<void> {
    try {
      await release();
    } catch (failure) {
      this.services.onInternalError(this.record.requestId, failure);
    }
  }
}

/**
 * The result of a vendor's batch is billed, and was not delivered. Its one ledger row is written when it is delivered
 * again, or given up (`server/jobs/line-attempts.ts`).
 */
const isUndelivered = ({ line }: RequestRecord, error?: GatewayError): boolean =>
  error !== undefined && line?.vendor?.isFinal === false;
