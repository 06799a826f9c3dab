/**
 * One request of a micro-batch, and the upstream request that it is part of: who is notified when a client disconnects,
 * and when an upstream request is canceled.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import type { RequestLoad } from "../limits/request-demand.ts";
import { queueAbortError } from "../request/deadline.ts";
import type { Send, StageRequest } from "../request/stage.ts";
import type { EmbeddingsQuery, EmbeddingsResponse } from "../upstream/contract.ts";

export type EmbeddingsSend = Send<EmbeddingsQuery, EmbeddingsResponse>;

/** A micro-batch that is being filled, or an upstream request that is queued or in flight. */
export interface MemberOwner {
  /** The micro-batch waits in the gateway: for more requests, or for the limits of its target. */
  readonly isQueued: boolean;
  /** The signal of a member has fired: its client has disconnected, or its timeout has passed. */
  onAborted(member: MicroBatchMember): void;
}

/**
 * One request of a micro-batch. It settles with its part of the response, with an error, or when its own signal aborts.
 */
export class MicroBatchMember {
  readonly request: StageRequest<EmbeddingsQuery>;
  readonly load: RequestLoad;
  readonly response: Promise<EmbeddingsResponse>;
  /** The request has a response or an error, or was aborted. */
  isSettled = false;
  /** An upstream has received the request in a micro-batch that failed or was slow. It is sent again on its own. */
  wasSent = false;
  /** The micro-batch that this request is part of. It is notified when the signal of the request fires. */
  owner: MemberOwner | undefined;
  readonly #signal: AbortSignal;
  readonly #resolve: (response: EmbeddingsResponse) => void;
  readonly #reject: (error: unknown) => void;

  constructor(request: StageRequest<EmbeddingsQuery>, load: RequestLoad) {
    this.request = request;
    this.load = load;
    this.#signal = request.signal();
    const { promise, resolve, reject } = Promise.withResolvers<EmbeddingsResponse>();
    this.response = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#signal.addEventListener("abort", this.#onAbort);
  }

  succeed(response: EmbeddingsResponse): void {
    if (this.isSettled) return;
    this.#end();
    this.#resolve(response);
  }

  fail(error: unknown): void {
    if (this.isSettled) return;
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.isSettled = true;
    this.#signal.removeEventListener("abort", this.#onAbort);
  }

  readonly #onAbort = (): void => {
    // A signal that is aborting may still call listeners that were just removed.
    if (this.isSettled) return;
    const { attempt } = this.request;
    const signal = this.#signal;
    const isQueued = this.owner?.isQueued === true;
    // The time in the queue says nothing about the target.
    if (attempt && isQueued) attempt.queueWait.isWaiting = true;
    const wasSent = this.wasSent || attempt?.wasSent === true;
    // Any other reason means that no client waits for the response, because another attempt has won.
    const isRequestEnd = signal.reason instanceof GatewayError;
    this.fail(isQueued && isRequestEnd ? queueAbortError(signal, wasSent) : signal.reason);
    this.owner?.onAborted(this);
  };
}

/** An upstream request for one or several members. */
export class SentMicroBatch implements MemberOwner {
  /** The upstream request was canceled, because it took too long. */
  wasSlow = false;
  readonly #request: StageRequest<EmbeddingsQuery>;
  #controller: AbortController | undefined;
  #remaining: number;

  constructor(request: StageRequest<EmbeddingsQuery>, memberCount: number) {
    this.#request = request;
    this.#remaining = memberCount;
  }

  /** Aborted when no member waits for the response any more. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  get isQueued(): boolean {
    return this.#request.attempt?.queueWait.isWaiting === true;
  }

  onAborted({ request }: MicroBatchMember): void {
    this.#remaining--;
    if (this.#remaining === 0) this.#controller?.abort(request.signal().reason);
  }

  cancelSlow(): void {
    this.wasSlow = true;
    this.#controller?.abort(
      new Error("the micro-batch was slow, so its requests are sent one by one"),
    );
  }
}
