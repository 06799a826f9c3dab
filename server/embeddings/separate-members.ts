/**
 * Sends each request of a slow batch on its own as well: one input may hang the upstream. The batch stays in flight,
 * because the upstream may only be slow, and the first response wins.
 */

import { runConcurrently } from "../lib/tasks.ts";
import { withTimeout } from "../lib/timers.ts";
import type { StageRequest } from "../request/stage.ts";
import type { EmbeddingsQuery, EmbeddingsResponse } from "../upstream/contract.ts";
import type { BatchMember, EmbeddingsSend, SentBatch } from "./batch-member.ts";

export interface SeparationOptions {
  readonly send: EmbeddingsSend;
  readonly maxParallel: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Called with the response of a request that was sent on its own. */
  readonly onResponse: (member: BatchMember, response: EmbeddingsResponse) => void;
}

/**
 * The part of the attempt timeout after which a batch is separated: the other requests of the batch get their responses
 * before their own timeouts.
 */
const share = 0.5;
/** How often the timeout is computed: latencies become known while the batch waits. */
const checkMs = 250;
/** After this time without a response the next request is sent: several inputs of a batch may hang the upstream. */
const maxWaitMs = 250;

/** Returns a function that ends the check, to be called when the batch has a response or an error. */
export function separateWhenSlow(
  members: readonly BatchMember[],
  batch: SentBatch,
  options: SeparationOptions,
): () => void {
  const { request } = members[0]!;
  const { attempt, queueWait } = request;
  if (!attempt) return () => undefined;
  const { clock } = options;
  const sentAt = clock();
  const check = (): void => {
    // The wait for the limits of the target says nothing about the inputs.
    const startedAt = Math.max(sentAt, queueWait?.admittedAt ?? 0);
    if (queueWait?.isWaiting === true || clock() - startedAt < attempt.timeoutMs() * share) return;
    clearInterval(timer);
    const left = members.filter((member) => !member.isSettled);
    batch.separate(left.length);
    for (const member of left) member.wasSent = true;
    const sendOne = (member: BatchMember): Promise<void> =>
      withTimeout(sendAlone(member, batch, options), maxWaitMs);
    void runConcurrently([...left], options.maxParallel, sendOne);
  };
  const timer = setInterval(check, checkMs);
  return () => clearInterval(timer);
}

/** Never rejects. */
async function sendAlone(
  member: BatchMember,
  batch: SentBatch,
  { send, clock, onResponse }: SeparationOptions,
): Promise<void> {
  if (member.isSettled) return;
  const { request } = member;
  const startedAt = clock();
  const alone = batch.memberAlone(member);
  try {
    const response = await send({ ...request, signal: alone.signal });
    if (member.isSettled) return;
    recordSeparation(request, startedAt);
    onResponse(member, response);
  } catch (error) {
    member.fail(error);
  }
}

/** The time in the batch says nothing about the latency of the target, and the upstream may bill the batch, too. */
function recordSeparation(
  { record, queueWait, attempt }: StageRequest<EmbeddingsQuery>,
  startedAt: number,
): void {
  record.routing.batchSize = 1;
  record.cost.earlierAttemptMayBeBilled = true;
  if (queueWait && attempt) queueWait.ms = Math.max(queueWait.ms, startedAt - attempt.startedAt);
}
