/** How each attempt of a finished request ended, and how long it took. */
import type { RequestRecord } from "../../request/request-record.ts";
import { canceled } from "../../request/timeline.ts";
import type { Target } from "../../upstream/contract.ts";

export const success = "success";

/** `outcome`: `success`, `canceled` or an error kind. `seconds`: without the queue of the target. */
type VisitAttempt = (target: Target, outcome: string, seconds: number) => void;

export function visitAttempts(record: RequestRecord, visit: VisitAttempt): void {
  const { startedAt, outcome, routing } = record;
  for (const attempt of routing.timedAttempts ?? []) {
    const { target, endedAt, error } = attempt;
    const isWinner = target === routing.target && outcome.error === undefined;
    const result = error ?? (endedAt === undefined && !isWinner ? canceled : success);
    const endsAt = endedAt ?? startedAt + outcome.latencyMs;
    visit(target, result, Math.max(0, endsAt - attempt.startedAt - attempt.queuedMs) / 1000);
  }
}
