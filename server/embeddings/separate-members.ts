/** Sends each request of a micro-batch on its own, where one input may have failed it or may hang the upstream. */

import { GatewayError } from "../lib/gateway-error.ts";
import { runConcurrently } from "../lib/tasks.ts";
import { withTimeout } from "../lib/timers.ts";
import type { StageRequest } from "../request/stage.ts";
import type { EmbeddingsQuery, EmbeddingsResponse } from "../upstream/contract.ts";
import {
  type EmbeddingsSend,
  type MicroBatchMember,
  SentMicroBatch,
} from "./micro-batch-member.ts";

export interface SeparationOptions {
  readonly send: EmbeddingsSend;
  readonly maxParallel: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Called with the response of a request that was sent on its own. */
  readonly onResponse: (member: MicroBatchMember, response: EmbeddingsResponse) => void;
}

/**
 * After this time without a response the next request is sent: several inputs of a micro-batch may hang the upstream.
 */
const maxWaitMs = 250;
/** If this many requests of a micro-batch fail on their own as well and none succeeds, no input is the cause. */
const maxFailures = 2;

/** Never rejects: every member settles on its own. */
export async function separate(
  members: readonly MicroBatchMember[],
  options: SeparationOptions,
  mayBeBilled: boolean,
): Promise<void> {
  const left = members.filter((member) => !member.isSettled);
  for (const member of left) {
    member.wasSent = true;
    // The upstream may bill the micro-batch as well as the request.
    if (mayBeBilled) member.request.attempt?.chargeEarlierMicroBatch();
  }
  let failures = 0;
  let failure: unknown;
  const sendOne = async (member: MicroBatchMember): Promise<void> => {
    if (failures >= maxFailures) return member.fail(failure);
    const error = await sendAlone(member, options);
    if (error === undefined || isRefused(error)) failures = Number.NEGATIVE_INFINITY;
    else if (!member.request.signal().aborted) {
      failures++;
      failure = error;
    }
  };
  await runConcurrently(left.toReversed(), options.maxParallel, (member) =>
    withTimeout(sendOne(member), maxWaitMs),
  );
}

/** The upstream refused the input, so it works. */
export const isRefused = (error: unknown): boolean =>
  error instanceof GatewayError &&
  error.definition.retry === "never" &&
  error.definition.causedBy !== "gateway";

/** Returns the error of the upstream request. Never rejects. */
async function sendAlone(
  member: MicroBatchMember,
  { send, clock, onResponse }: SeparationOptions,
): Promise<unknown> {
  if (member.isSettled) return undefined;
  const { request } = member;
  const startedAt = clock();
  member.owner = new SentMicroBatch(request, 1);
  // From now on it waits for the limits of the target by itself.
  if (request.attempt) request.attempt.queueWait = { ...request.attempt.queueWait };
  try {
    const response = await send(request);
    if (member.isSettled) return undefined;
    reportSeparation(request, startedAt);
    onResponse(member, response);
    return undefined;
  } catch (error) {
    member.fail(error);
    return error;
  }
}

/** The time in the micro-batch says nothing about the latency of the target. */
function reportSeparation(
  { report, attempt }: StageRequest<EmbeddingsQuery>,
  startedAt: number,
): void {
  report.addMicroBatch(1);
  if (!attempt) return;
  const { queueWait } = attempt;
  queueWait.ms = Math.max(queueWait.ms, startedAt - attempt.startedAt);
}

/**
 * The part of the attempt timeout after which a micro-batch is slow: its other requests get their responses
 * before their own timeouts.
 */
const share = 0.5;
/** How often the timeout is computed: latencies become known while the micro-batch waits. */
const checkMs = 250;

/** Returns a function that ends the check, to be called when the micro-batch has a response or an error. */
export function cancelWhenSlow(
  microBatch: SentMicroBatch,
  { attempt }: StageRequest<EmbeddingsQuery>,
  clock: () => number,
): () => void {
  if (!attempt) return () => undefined;
  const sentAt = clock();
  const timer = setInterval(() => {
    // The wait for the limits of the target says nothing about the inputs.
    const { admittedAt, isWaiting } = attempt.queueWait;
    const startedAt = Math.max(sentAt, admittedAt);
    if (isWaiting || clock() - startedAt < attempt.timeoutMs() * share) return;
    clearInterval(timer);
    microBatch.cancelSlow();
  }, checkMs);
  return () => clearInterval(timer);
}
