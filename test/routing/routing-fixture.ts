/** Targets without a gateway, put into any health state by recorded outcomes. */

import type { AttemptOutcome } from "../../server/routing/health/classify-outcome.ts";
import { type TargetChange, TargetHealth } from "../../server/routing/health/target-health.ts";
import {
  type Candidate,
  p2c,
  policies,
  type SelectionContext,
} from "../../server/routing/policies.ts";
import type { Selection } from "../../server/routing/select-target.ts";
import { targetNamed } from "../embeddings/stage-fixture.ts";
import { randomFrom } from "../fuzz/routing-simulation.ts";

export const half = (): number => 0.5;

interface CandidateOptions {
  readonly tier?: number;
  readonly weight?: number;
  readonly changes?: TargetChange[];
  readonly scopes?: readonly string[];
}

export function candidateNamed(id: string, options: CandidateOptions = {}): Candidate {
  const { tier = 0, weight = 1, changes = [], scopes } = options;
  const target = { ...targetNamed(id), ...(scopes && { scopes }) };
  const health = new TargetHealth(target, { random: half, onChange: (each) => changes.push(each) });
  return { target, health, tier, weight, stableHash: Bun.hash.crc32(id) };
}

export const contextAt = (now: number, more: Partial<SelectionContext> = {}): SelectionContext => ({
  now,
  random: randomFrom(1),
  sizeClass: 0,
  affinityHash: 0,
  price: () => undefined,
  ...more,
});

/** A selection among candidates that were not tried, without limits. */
export const among = (
  candidates: readonly Candidate[],
  more: Partial<Selection> = {},
): Selection => ({ candidates, policy: p2c, tried: undefined, capacity: undefined, ...more });

/** Records one request that succeeds after `ms`. */
export function succeed({ health }: Candidate, now: number, ms = 10): void {
  health.start(now);
  health.recordSuccess(now + ms, now, ms, 0);
}

/** Records one request that ends with this outcome at once. `isLast`: no other target of the model is healthy. */
export function end(
  { health }: Candidate,
  now: number,
  outcome: AttemptOutcome,
  isLast = false,
): void {
  health.start(now);
  health.recordEnd(now, now, outcome, () => isLast);
}

/** Records one request that fails. */
export const fail = (candidate: Candidate, now: number, isLast = false): void =>
  end(candidate, now, { kind: "failure", errorKind: "upstream_error" }, isLast);

/** Records consecutive failures until the circuit breaker opens. */
export function eject(candidate: Candidate, now: number): void {
  for (let attempt = 0; attempt < 5; attempt++) fail(candidate, now);
}

export const rateLimit = (candidate: Candidate, now: number, waitMs?: number): void =>
  end(candidate, now, { kind: "rate-limited", ...(waitMs !== undefined && { waitMs }) });

export const everyPolicy = new Map(Object.entries(policies));
