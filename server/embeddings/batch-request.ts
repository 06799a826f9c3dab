/**
 * A micro-batch: several clients' inputs in one upstream request, with the response split back per client. A refused
 * batch is bisected.
 */

import { EncodedVector } from "../lib/codec/index.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { runConcurrently } from "../lib/tasks.ts";
import type { RequestLoad } from "../limits/request-demand.ts";
import { queueAbortError } from "../request/deadline.ts";
import type { QueueWait, Send, SendListener, StageRequest } from "../request/stage.ts";
import type { EmbeddingInput, EmbeddingsQuery, EmbeddingsResponse } from "../upstream/contract.ts";
import { invalidResponse } from "../upstream/invalid-response.ts";
import { tokensPerInput } from "./embedding-usage.ts";

export type EmbeddingsSend = Send<EmbeddingsQuery, EmbeddingsResponse>;

/** A batch that is being filled, or an upstream request that is queued or in flight. */
export interface MemberOwner {
  /** The batch waits in the gateway: for more requests, or for the limits of its target. */
  readonly isQueued: boolean;
  /** The signal of a member has fired: its client has disconnected, or its timeout has passed. */
  onAborted(member: BatchMember): void;
}

/** One request of a batch. It settles with its part of the response, with an error, or when its own signal aborts. */
export class BatchMember {
  readonly request: StageRequest<EmbeddingsQuery>;
  readonly load: RequestLoad;
  readonly response: Promise<EmbeddingsResponse>;
  /** The request has a response or an error, or was aborted. */
  isSettled = false;
  /** An upstream has received the request in a batch that failed. It is sent again in one half of the batch. */
  wasSent = false;
  /** The batch that this request is part of. It is notified when the signal of the request fires. */
  owner: MemberOwner | undefined;
  readonly #resolve: (response: EmbeddingsResponse) => void;
  readonly #reject: (error: unknown) => void;

  constructor(request: StageRequest<EmbeddingsQuery>, load: RequestLoad) {
    this.request = request;
    this.load = load;
    const { promise, resolve, reject } = Promise.withResolvers<EmbeddingsResponse>();
    this.response = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    request.signal.addEventListener("abort", this);
  }

  succeed(response: EmbeddingsResponse): void {
    this.#end();
    this.#resolve(response);
  }

  fail(error: unknown): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.isSettled = true;
    this.request.signal.removeEventListener("abort", this);
  }

  /** Listens to the `abort` event. The member itself is the listener, which saves a closure per request. */
  handleEvent(): void {
    // A signal that is aborting may still call listeners that were just removed.
    if (this.isSettled) return;
    const { signal, record, queueWait } = this.request;
    const isQueued = this.owner?.isQueued === true;
    // The time in the queue says nothing about the target.
    if (queueWait && isQueued) queueWait.isWaiting = true;
    const wasSent = this.wasSent || record.routing.reachedUpstream;
    // Any other reason means that no client waits for the response, because another attempt has won.
    const isRequestEnd = signal.reason instanceof GatewayError;
    this.fail(isQueued && isRequestEnd ? queueAbortError(signal, wasSent) : signal.reason);
    this.owner?.onAborted(this);
  }
}

/**
 * Requests that are sent as one upstream request. `bisection`: set for one half of a failed batch; both halves share
 * the object.
 */
interface SubBatch {
  readonly members: readonly BatchMember[];
  readonly bisection?: Bisection;
}

/** The bisection of a batch that failed with a server error. */
interface Bisection {
  /**
   * What a half that ended without a server error shows about the server. `healthy`: the half succeeded, the upstream
   * refused an input of it, or all its members had settled before it was sent. `failing`: the half failed with an error
   * that applies to every request, such as a rate limit. Absent: no half has ended without a server error yet.
   */
  server?: "healthy" | "failing";
  /** The half that failed with a server error too, until the other half settles. */
  failed?: { readonly members: readonly BatchMember[]; readonly error: unknown };
}

/** Never rejects: every member settles on its own. */
export const sendBatch = (
  members: readonly BatchMember[],
  send: EmbeddingsSend,
  maxParallel: number,
): Promise<void> => {
  const stack: SubBatch[] = [{ members }];
  const bisect = (members: readonly BatchMember[], bisection?: Bisection): void => {
    for (const member of members) member.wasSent = true;
    const middle = members.length >> 1;
    for (const half of [members.slice(middle), members.slice(0, middle)]) {
      stack.push({ members: half, ...(bisection && { bisection }) });
    }
  };
  const failOrBisect = (
    members: readonly BatchMember[],
    error: unknown,
    bisection: Bisection = {},
  ): void => {
    if (members.length > 1 && bisection.server !== "failing") bisect(members, {});
    else failAll(members, error);
  };
  const report = (
    bisection: Bisection | undefined,
    server: NonNullable<Bisection["server"]>,
  ): void => {
    if (!bisection) return;
    bisection.server = server;
    if (bisection.failed) failOrBisect(bisection.failed.members, bisection.failed.error, bisection);
  };
  const onServerError = (
    members: readonly BatchMember[],
    error: unknown,
    bisection: Bisection | undefined,
  ): void => {
    if (!bisection || bisection.server) failOrBisect(members, error, bisection);
    else if (!bisection.failed) bisection.failed = { members, error };
    else {
      // Both halves failed: no single input is the cause, and sending them again would not help.
      failAll(bisection.failed.members, bisection.failed.error);
      failAll(members, error);
    }
  };
  return runConcurrently(stack, maxParallel, async ({ members: sent, bisection }) => {
    const members = sent.filter((member) => !member.isSettled);
    startedFirst(members);
    if (members.length === 0) return report(bisection, "healthy");
    try {
      const input = joinInputs(members);
      splitResponse(await sendJoined(members, input, send), members, input);
      report(bisection, "healthy");
    } catch (error) {
      if (isServerError(error)) return onServerError(members, error, bisection);
      const isInput = isInputError(error);
      if (isInput && members.length > 1) bisect(members);
      else failAll(members, error);
      report(bisection, isInput ? "healthy" : "failing");
    }
  });
};

function failAll(members: readonly BatchMember[], error: unknown): void {
  for (const member of members) member.fail(error);
}

/** The upstream refused an input without saying which: the batch is bisected until the input is found. */
const isInputError = (error: unknown): boolean =>
  error instanceof GatewayError &&
  error.definition.retry === "never" &&
  error.definition.causedBy !== "gateway";

/**
 * Self-hosted servers respond with 500, or with invalid numbers, to an input that they cannot process, so one input may
 * be the cause. Any other upstream error applies to all members; each may be retried on another target.
 */
const isServerError = (error: unknown): boolean =>
  error instanceof GatewayError &&
  (error.kind === "upstream_error" || error.kind === "upstream_invalid");

async function sendJoined(
  members: readonly BatchMember[],
  input: EmbeddingInput,
  send: EmbeddingsSend,
): Promise<EmbeddingsResponse> {
  for (const { request } of members) request.record.routing.batchSize = members.length;
  // Later stages read and write the request record and the queue wait of the first member, for all members. Of what
  // they read, the priority and the model are the same for all. From the first member alone come the API key
  // whose turn the batch takes in the queue of the target, the trace context that the upstream gets, and the request ID
  // in the log if the reported usage is implausible. The cache policy is applied before batching, and each member has
  // its own timeout.
  const { request } = members[0]!;
  const sent = new SentBatch(request, members.length);
  for (const member of members) member.owner = sent;
  if (members.length === 1) return send(request);
  const query = { ...request.query, input, single: false };
  try {
    const sendListener = request.record.priority === "batch" ? listenerOf(members) : undefined;
    return await send({ ...request, query, signal: sent.signal, sendListener });
  } finally {
    const { hasStarted } = request.record.routing;
    for (const member of members) {
      copyQueueWait(request.queueWait, member.request.queueWait);
      if (hasStarted) member.request.record.routing.hasStarted = true;
    }
  }
}

/** Tells each member's listener about the inputs of that member. */
const listenerOf = (members: readonly BatchMember[]): SendListener => ({
  onSent: () => {
    for (const { request, load } of members) request.sendListener?.onSent(load.items);
  },
  onFailed: () => {
    for (const { request, load } of members) request.sendListener?.onFailed(load.items);
  },
});

/**
 * Moves a request for which work was already done, such as a sub-request of a split request, to the front: the batch is
 * then neither shed nor timed out in the queue of the target, as that request would not be on its own.
 */
function startedFirst(members: BatchMember[]): void {
  const at = members.findIndex(({ request }) => request.record.routing.hasStarted);
  if (at > 0) members.unshift(...members.splice(at, 1));
}

/** An upstream request for one or several members. */
class SentBatch implements MemberOwner {
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
    return this.#request.queueWait?.isWaiting === true;
  }

  onAborted({ request: { queueWait, signal } }: BatchMember): void {
    copyQueueWait(this.#request.queueWait, queueWait);
    this.#remaining--;
    if (this.#remaining === 0) this.#controller?.abort(signal.reason);
  }
}

/** The members of a batch wait for the limits of their target together. */
function copyQueueWait(from: QueueWait | undefined, to: QueueWait | undefined): void {
  if (!from || !to || from === to) return;
  to.ms = from.ms;
  to.isWaiting = from.isWaiting;
  to.admittedAt = from.admittedAt;
}

function joinInputs(members: readonly BatchMember[]): EmbeddingInput {
  const [texts, tokens]: [string[], (readonly number[])[]] = [[], []];
  for (const { request } of members) {
    const { input } = request.query;
    if (input.kind === "text") texts.push(...input.texts);
    else tokens.push(...input.tokens);
  }
  return texts.length > 0 ? { kind: "text", texts } : { kind: "tokens", tokens };
}

function splitResponse(
  response: EmbeddingsResponse,
  members: readonly BatchMember[],
  input: EmbeddingInput,
): void {
  const { vectors, usage, cost } = response;
  const expected = members.reduce((sum, { load }) => sum + load.items, 0);
  // The verify stage checks the number of vectors too. It is checked twice, because a wrong number would give a client
  // another client's vector.
  if (vectors.length !== expected) {
    throw invalidResponse(`${vectors.length} vectors for ${expected} inputs`);
  }
  // A batch of one gets the upstream's response unchanged.
  if (members.length === 1) {
    members[0]!.succeed(response);
    return;
  }
  // No member gets the response body unchanged: the memory of the body is freed without waiting for the garbage
  // collector, unless the vectors are in that memory.
  if (response.verbatim && !(vectors[0] instanceof EncodedVector)) {
    response.verbatim.body.release();
  }
  const counts = usage && tokensPerInput(usage, input);
  let from = 0;
  for (const member of members) {
    const to = from + member.load.items;
    // Members of a batch have equal parameters, so the same parameters were adapted.
    member.request.record.parameters.adapted = members[0]!.request.record.parameters.adapted;
    const memberUsage = counts && usageOf(counts.slice(from, to));
    // In proportion to the tokens, as vendors charge; without counts, to the inputs.
    const share =
      usage && memberUsage && usage.inputTokens > 0
        ? memberUsage.inputTokens / usage.inputTokens
        : member.load.items / expected;
    member.succeed({
      vectors: vectors.slice(from, to),
      ...(memberUsage && { usage: memberUsage }),
      ...(cost !== undefined && { cost: cost * share }),
    });
    from = to;
  }
}

const usageOf = (perInput: readonly number[]): NonNullable<EmbeddingsResponse["usage"]> => ({
  inputTokens: perInput.reduce((sum, tokens) => sum + tokens, 0),
  perInput,
});
