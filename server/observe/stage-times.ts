/** Stage times of a finished request, for metrics and traces. */
import type { RequestRecord } from "../request/request-record.ts";

/**
 * `receive`: authentication, reading and validating the body. `queue`: rate limits, concurrency slots, budgets.
 * `prepare`: from the end of the queue to the first attempt. `upstream`: from the first attempt to the end of the last
 * one. `respond`: from the end of the last attempt (without an attempt: of the queue) until the response is complete;
 * the last byte is sent after the next stage. `ledger`: writing the row.
 */
const requestStages = ["receive", "queue", "prepare", "upstream", "respond", "ledger"] as const;
type RequestStage = (typeof requestStages)[number];

/** `startedAt` and `endedAt`: milliseconds, monotonic. */
type VisitStage = (stage: RequestStage, startedAt: number, endedAt: number) => void;

/** Skips stages that the request did not reach, and a queue without a wait. `endedAt`: when the whole request ended. */
export function visitStages(record: RequestRecord, endedAt: number, visit: VisitStage): void {
  const { startedAt, receivedAt, queuedMs, routing, outcome } = record;
  const respondedAt = startedAt + outcome.latencyMs;
  if (receivedAt === 0) {
    visit("receive", startedAt, respondedAt);
  } else {
    visit("receive", startedAt, receivedAt);
    let at = Math.min(receivedAt + queuedMs, respondedAt);
    if (queuedMs > 0) visit("queue", receivedAt, at);
    const attempts = routing.timedAttempts;
    if (attempts) {
      const first = (attempts[0] as (typeof attempts)[number]).startedAt;
      let last = first;
      for (const attempt of attempts) last = Math.max(last, attempt.endedAt ?? respondedAt);
      visit("prepare", at, first);
      visit("upstream", first, last);
      at = last;
    }
    visit("respond", at, Math.max(at, respondedAt));
  }
  visit("ledger", respondedAt, endedAt);
}
