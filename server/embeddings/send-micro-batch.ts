/**
 * A micro-batch: several clients' inputs in one upstream request, with the response split back per client. A refused
 * or slow micro-batch is separated: each of its requests is sent on its own (`separate-members.ts`).
 */

import { GatewayError } from "../lib/gateway-error.ts";
import { hasStarted } from "../request/stage.ts";
import type { EmbeddingInput, EmbeddingsResponse, InputEntry } from "../upstream/contract.ts";
import { invalidResponse } from "../upstream/invalid-response.ts";
import { mayBillFailedAttempt } from "../upstream/may-have-been-billed.ts";
import { tokensPerInput } from "./embedding-usage.ts";
import {
  type EmbeddingsSend,
  type MicroBatchMember,
  SentMicroBatch,
} from "./micro-batch-member.ts";
import { cancelWhenSlow, isRefused, type SeparationOptions, separate } from "./separate-members.ts";

/** Never rejects: every member settles on its own. */
export async function sendMicroBatch(
  members: readonly MicroBatchMember[],
  send: EmbeddingsSend,
  maxParallel: number,
  clock: () => number,
): Promise<void> {
  const options: SeparationOptions = { send, maxParallel, clock, onResponse: splitSingle };
  const microBatch = new SentMicroBatch(members[0]!.request, members.length);
  const stop =
    members.length > 1 ? cancelWhenSlow(microBatch, members[0]!.request, clock) : undefined;
  try {
    const input = joinInputs(members);
    splitResponse(await sendJoined(members, input, microBatch, send), members, input);
  } catch (error) {
    const isSeparated = members.length > 1 && (microBatch.wasSlow || mayBeOneInput(error));
    const mayBeBilled = microBatch.wasSlow || mayBillFailedAttempt(error);
    if (isSeparated) await separate(members, options, mayBeBilled);
    else for (const member of members) member.fail(error);
  } finally {
    stop?.();
  }
}

/**
 * Whether one input may be the cause: the upstream refused the micro-batch without saying which input, or it responded
 * with 500 or with invalid numbers, as self-hosted servers do for an input that they cannot process. Any other upstream
 * error applies to all members; each may be retried on another target.
 */
const mayBeOneInput = (error: unknown): boolean =>
  isRefused(error) ||
  (error instanceof GatewayError &&
    (error.kind === "upstream_error" || error.kind === "upstream_invalid"));

async function sendJoined(
  members: readonly MicroBatchMember[],
  input: EmbeddingInput,
  microBatch: SentMicroBatch,
  send: EmbeddingsSend,
): Promise<EmbeddingsResponse> {
  // Of the context, the priority is the same for all members, and the cache policy was applied before batching. From
  // the first member alone come the API key whose turn the micro-batch takes in the queue of the target, the trace
  // context that the upstream gets, and the request ID in the log if the reported usage is implausible.
  const { request } = members[0]!;
  for (const member of members) {
    const { report, attempt } = member.request;
    report.addMicroBatch(members.length);
    member.owner = microBatch;
    // The members wait for the limits of their target together.
    if (attempt && request.attempt) attempt.queueWait = request.attempt.queueWait;
  }
  if (members.length === 1) return send(request);
  const query = { ...request.query, input, single: false };
  // The micro-batch is neither shed nor timed out in the queue of the target if one of its members would not be.
  const parts = { hasStarted: members.some((member) => hasStarted(member.request)) };
  try {
    return await send({ ...request, query, signal: () => microBatch.signal, parts });
  } finally {
    for (const member of members)
      if (parts.hasStarted && member.request.parts) member.request.parts.hasStarted = true;
  }
}

function joinInputs(members: readonly MicroBatchMember[]): EmbeddingInput {
  const [texts, tokens, entries]: [string[], (readonly number[])[], InputEntry[]] = [[], [], []];
  for (const { request } of members) {
    const { input } = request.query;
    if (input.kind === "text") texts.push(...input.texts);
    else if (input.kind === "tokens") tokens.push(...input.tokens);
    else entries.push(...input.entries);
  }
  // The members of a micro-batch have inputs of one kind.
  if (entries.length > 0) return { kind: "mixed", entries };
  return texts.length > 0 ? { kind: "text", texts } : { kind: "tokens", tokens };
}

const splitSingle: SeparationOptions["onResponse"] = (member, response) =>
  splitResponse(response, [member], member.request.query.input);

function splitResponse(
  response: EmbeddingsResponse,
  members: readonly MicroBatchMember[],
  input: EmbeddingInput,
): void {
  const { vectors, usage, cost, deviations } = response;
  const expected = members.reduce((sum, { load }) => sum + load.items, 0);
  // The verify stage checks the number of vectors too. It is checked twice, because a wrong number would give a client
  // another client's vector.
  if (vectors.length !== expected) {
    throw invalidResponse(`${vectors.length} vectors for ${expected} inputs`);
  }
  // A micro-batch of one gets the upstream's response unchanged.
  if (members.length === 1) {
    members[0]!.succeed(response);
    return;
  }
  const counts = usage && tokensPerInput(usage, input);
  let from = 0;
  for (const member of members) {
    const to = from + member.load.items;
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
      // Members of a micro-batch have equal parameters, so the same parameters were adapted.
      ...(deviations && { deviations }),
    });
    from = to;
  }
}

const usageOf = (perInput: readonly number[]): NonNullable<EmbeddingsResponse["usage"]> => ({
  inputTokens: perInput.reduce((sum, tokens) => sum + tokens, 0),
  perInput,
});
