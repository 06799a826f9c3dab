/**
 * A micro-batch: several clients' inputs in one upstream request, with the response split back per client. A refused
 * batch is bisected, and a slow one is separated (`separate-members.ts`).
 */

import { GatewayError } from "../lib/gateway-error.ts";
import { runConcurrently } from "../lib/tasks.ts";
import { EncodedVector } from "../lib/vector-codec/index.ts";
import type { SendListener } from "../request/stage.ts";
import type { EmbeddingInput, EmbeddingsResponse } from "../upstream/contract.ts";
import { invalidResponse } from "../upstream/invalid-response.ts";
import { type BatchMember, copyQueueWait, type EmbeddingsSend, SentBatch } from "./batch-member.ts";
import { tokensPerInput } from "./embedding-usage.ts";
import { type SeparationOptions, separateWhenSlow } from "./separate-members.ts";

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
  clock: () => number,
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
      await sendAndSplit(members, { send, maxParallel, clock, onResponse: splitSingle });
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

async function sendAndSplit(
  members: readonly BatchMember[],
  options: SeparationOptions,
): Promise<void> {
  const batch = new SentBatch(members[0]!.request, members.length);
  const stop = members.length > 1 ? separateWhenSlow(members, batch, options) : undefined;
  try {
    const input = joinInputs(members);
    splitResponse(await sendJoined(members, input, batch, options.send), members, input);
  } catch (error) {
    // Once the batch is separated, each member settles with its own upstream request.
    if (!batch.isSeparated) throw error;
  } finally {
    stop?.();
  }
}

async function sendJoined(
  members: readonly BatchMember[],
  input: EmbeddingInput,
  batch: SentBatch,
  send: EmbeddingsSend,
): Promise<EmbeddingsResponse> {
  for (const { request } of members) request.record.routing.batchSize = members.length;
  // Later stages read and write the request record and the queue wait of the first member, for all members. Of what
  // they read, the priority and the model are the same for all. From the first member alone come the API key
  // whose turn the batch takes in the queue of the target, the trace context that the upstream gets, and the request ID
  // in the log if the reported usage is implausible. The cache policy is applied before batching, and each member has
  // its own timeout.
  const { request } = members[0]!;
  for (const member of members) member.owner = batch;
  if (members.length === 1) return send(request);
  const query = { ...request.query, input, single: false };
  try {
    const sendListener = request.record.priority === "batch" ? listenerOf(members) : undefined;
    return await send({ ...request, query, signal: batch.signal, sendListener });
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

function joinInputs(members: readonly BatchMember[]): EmbeddingInput {
  const [texts, tokens]: [string[], (readonly number[])[]] = [[], []];
  for (const { request } of members) {
    const { input } = request.query;
    if (input.kind === "text") texts.push(...input.texts);
    else tokens.push(...input.tokens);
  }
  return texts.length > 0 ? { kind: "text", texts } : { kind: "tokens", tokens };
}

const splitSingle: SeparationOptions["onResponse"] = (member, response) =>
  splitResponse(response, [member], member.request.query.input);

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
