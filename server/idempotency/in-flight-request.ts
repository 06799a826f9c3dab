/** A call that is being made, and what is kept of it: for those who wait for it, and for those who ask later. */
import { createHash } from "node:crypto";
import { GatewayError } from "../lib/gateway-error.ts";
import type { StreamedJson } from "../lib/json-stream.ts";
import type { ResponseMetadata, ResponseWriter } from "../lib/response-store.ts";
import type { ClaimOptions, FailedRequest, IdempotencyStore } from "./idempotency-store.ts";

/** Of one answer: whoever comes after so many that wait for it makes their own. */
const maxNames = 64;

export class InFlightRequest {
  readonly #kept: IdempotencyStore;
  readonly #ask: ClaimOptions;
  #fingerprint: string | undefined;
  readonly #names = new Set<string>();
  #over = Promise.withResolvers<FailedRequest | undefined>();
  #recorder: ResponseWriter | undefined;
  #isSpoilt = false;
  #isOver = false;
  #isTold = false;

  constructor(kept: IdempotencyStore, ask: ClaimOptions, fingerprint: string | undefined) {
    this.#kept = kept;
    this.#ask = ask;
    this.#fingerprint = fingerprint;
  }

  get fingerprint(): string | undefined {
    return this.#fingerprint;
  }

  /** Settles when the call is over, however it went: with its failure where whoever waits is not to make it anew. */
  get settled(): Promise<FailedRequest | undefined> {
    return this.#over.promise;
  }

  /** True once: to whom a failure is handed over that only one is to have. */
  claimFailure(): boolean {
    const isFirst = !this.#isTold;
    this.#isTold = true;
    return isFirst;
  }

  get isSettled(): boolean {
    return this.#isOver;
  }

  /** The answer will be asked for again, whether it arrives or not. */
  get hasIdempotencyKey(): boolean {
    return this.#ask.idempotencyKey !== undefined;
  }

  register(names: readonly string[]): void {
    // It was over, and was not delivered after all: whoever comes now waits for the end of that, and not for one that is past.
    if (this.#isOver) {
      this.#isOver = false;
      this.#over = Promise.withResolvers();
    }
    for (const name of names) {
      this.#names.add(name);
      this.#kept.register(name, this);
    }
  }

  /** Nothing once it is over: what is kept by then has its names. */
  addWaiter(names: readonly string[]): void {
    if (!this.#isOver && this.#names.size < maxNames) this.register(names);
  }

  /**
   * Looks at the question, files and all, while they are there: nobody can be given the answer without. A file that cannot
   * be read costs that, and not the call.
   */
  async computeFingerprint(): Promise<string | undefined> {
    try {
      this.#fingerprint ??= await this.#ask.fingerprint();
    } catch (error) {
      this.#kept.reportStorageError(error);
    }
    return this.#fingerprint;
  }

  /** The caller is gone: whoever asks the same may wait for what was begun. */
  async detach(): Promise<void> {
    const wasOver = this.#isOver;
    const fingerprint = await this.computeFingerprint();
    // It ended meanwhile: who waited for it now would wait for ever.
    if (fingerprint === undefined || this.#isOver !== wasOver) return;
    this.register(idNames(this.#ask));
    this.#kept.addOrphan(this.#ask, fingerprint);
  }

  append(piece: string | Uint8Array): void {
    // An answer with a gap in it is none: what could not be begun, or went wrong once, is not taken up again.
    if (this.#isSpoilt) return;
    try {
      this.#recorder ??= this.#kept.startRecording();
      this.#recorder?.append(piece);
      this.#isSpoilt = this.#recorder === undefined;
    } catch (error) {
      this.#isSpoilt = true;
      this.#kept.reportStorageError(error);
      void this.#discard();
    }
  }

  async appendAll(body: string | Uint8Array | StreamedJson): Promise<void> {
    if (typeof body === "string" || body instanceof Uint8Array) this.append(body);
    else for await (const piece of body.open()) this.append(piece);
  }

  /** Kept under every name it was begun with. */
  async store(headers: ResponseMetadata["headers"]): Promise<void> {
    const { requestId } = this.#ask;
    const fingerprint = await this.computeFingerprint();
    if (fingerprint === undefined) await this.#discard();
    else await this.#commit({ requestId, fingerprint, headers });
    if (!this.#recorder) return this.release(responseNotStored());
    this.#recorder = undefined;
    this.settle();
  }

  async #commit(facts: ResponseMetadata): Promise<void> {
    for (const name of idNames(this.#ask)) this.#names.add(name);
    const kept = new Set<string>();
    try {
      // While it is written, one who waits may leave and want it under another name.
      while (this.#recorder && kept.size < this.#names.size) {
        const names = [...this.#names].filter((name) => !kept.has(name));
        await this.#recorder.commit(names, facts);
        for (const name of names) kept.add(name);
      }
    } catch (error) {
      this.#kept.reportStorageError(error);
      await this.#discard();
    }
  }

  /** Nothing is kept. `failure`: what those who wait are told; without it, one of them makes the call anew. */
  async release(failure?: GatewayError): Promise<void> {
    // A caller who left is told of as of a failure, after the answer was kept.
    if (this.#isOver) return;
    await this.#discard();
    this.#kept.removeOrphan(this.#ask);
    this.settle(failure);
  }

  /** Never rejects: concurrent duplicates wait for what comes after it. */
  async #discard(): Promise<void> {
    const recorder = this.#recorder;
    this.#recorder = undefined;
    try {
      await recorder?.discard();
    } catch (error) {
      this.#kept.reportStorageError(error);
    }
  }

  settle(failure?: GatewayError): void {
    this.#isOver = true;
    for (const name of this.#names) this.#kept.unregister(name, this);
    const { requestId } = this.#ask;
    this.#over.resolve(failure && { requestId, error: asNonRetryable(failure) });
  }
}

/** Whoever is told of it has asked nobody. All the same their client is not to order again by itself. */
const asNonRetryable = ({ kind: fault, message, details }: GatewayError): GatewayError =>
  new GatewayError(fault, message, {
    ...details,
    overrides: { ...details.overrides, retry: "never" },
  });

/** It is paid for, and was for the one who asked first. Each of those who wait would pay for it again. */
const responseNotStored = (): GatewayError =>
  new GatewayError(
    "storage_unavailable",
    "The same call was made a moment ago, and its answer could not be kept for this one. Asked again, it would be paid for again.",
  );

/** So much of an id counts, whether it is given to a call or asked for. */
const idLength = 512;

export const idName = (owner: string, id: string): string =>
  storeName("id", owner, id.slice(0, idLength));

export const idNames = ({ owner, requestId, clientRequestId: clientId }: ClaimOptions): string[] =>
  [requestId, ...(clientId === undefined ? [] : [clientId])].map((id) => idName(owner, id));

export const storeName = (...parts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex");
