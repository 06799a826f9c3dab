/** Targets without a gateway, put into any health state by recorded outcomes. */

import { type TargetChange, TargetHealth } from "../../server/routing/health/target-health.ts";
import { policies } from "../../server/routing/policies/index.ts";
import type { Candidate, SelectionContext } from "../../server/routing/policies/policy.ts";
import { targetNamed } from "../embeddings/stage-fixture.ts";
import { randomFrom } from "../fuzz/scheduling-world.ts";

export const half = (): number => 0.5;

export interface SeatOptions {
  readonly tier?: number;
  readonly weight?: number;
  readonly news?: TargetChange[];
  readonly scopes?: readonly string[];
}

export function seatNamed(id: string, options: SeatOptions = {}): Candidate {
  const { tier = 0, weight = 1, news = [], scopes } = options;
  const target = { ...targetNamed(id), ...(scopes && { scopes }) };
  const health = new TargetHealth(target, { random: half, onChange: (each) => news.push(each) });
  return { target, health, tier, weight, stableHash: Bun.hash.crc32(id) };
}

export const questionAt = (
  now: number,
  more: Partial<SelectionContext> = {},
): SelectionContext => ({
  now,
  random: randomFrom(1),
  sizeClass: 0,
  affinityHash: 0,
  price: () => undefined,
  ...more,
});

/** One call that is answered after so long. */
export function answers({ health }: Candidate, now: number, ms = 10, peers = [health]): void {
  const probe = health.start(now);
  health.recordSuccess(now + ms, ms, 0, probe, peers);
}

/** One call that fails. */
export function fails({ health }: Candidate, now: number, peers = [health]): void {
  const probe = health.start(now);
  const outcome = { kind: "failure", errorKind: "upstream_error", busy: false } as const;
  health.recordEnd(now, outcome, probe, peers);
}

/** So that nobody asks it. */
export function dies(candidate: Candidate, now: number): void {
  for (let call = 0; call < 5; call++) fails(candidate, now);
}

export function isLimited({ health }: Candidate, now: number, waitMs?: number): void {
  const probe = health.start(now);
  const outcome = { kind: "rate-limited", ...(waitMs !== undefined && { waitMs }) } as const;
  health.recordEnd(now, outcome, probe, [health]);
}

export const everyPolicy = new Map(Object.entries(policies));
