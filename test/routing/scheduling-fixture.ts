/** Targets without a gateway around them, made well, slow, limited or dead by what they are told happened to them. */

import { TargetHealth, type TargetNews } from "../../server/routing/health/target-health.ts";
import { policies } from "../../server/routing/policies/index.ts";
import type { Question, Seat } from "../../server/routing/policies/policy.ts";
import { targetNamed } from "../embeddings/travelling-fixture.ts";
import { randomFrom } from "../fuzz/scheduling-world.ts";

export const half = (): number => 0.5;

export interface SeatOptions {
  readonly tier?: number;
  readonly weight?: number;
  readonly news?: TargetNews[];
  readonly scopes?: readonly string[];
}

export function seatNamed(id: string, options: SeatOptions = {}): Seat {
  const { tier = 0, weight = 1, news = [], scopes } = options;
  const target = { ...targetNamed(id), ...(scopes && { scopes }) };
  const health = new TargetHealth(target, { random: half, tell: (each) => news.push(each) });
  return { target, health, tier, weight, mark: Bun.hash.crc32(id) };
}

export const questionAt = (now: number, more: Partial<Question> = {}): Question => ({
  now,
  random: randomFrom(1),
  size: 0,
  caller: 0,
  price: () => undefined,
  ...more,
});

/** One call that is answered after so long. */
export function answers({ health }: Seat, now: number, ms = 10, peers = [health]): void {
  const probe = health.begin(now);
  health.succeeded(now + ms, ms, 0, probe, peers);
}

/** One call that fails. */
export function fails({ health }: Seat, now: number, peers = [health]): void {
  const probe = health.begin(now);
  const outcome = { kind: "failed", why: "upstream_error", busy: false } as const;
  health.ended(now, outcome, probe, peers);
}

/** So that nobody asks it. */
export function dies(seat: Seat, now: number): void {
  for (let call = 0; call < 5; call++) fails(seat, now);
}

export function isLimited({ health }: Seat, now: number, waitMs?: number): void {
  const probe = health.begin(now);
  const outcome = { kind: "limited", ...(waitMs !== undefined && { waitMs }) } as const;
  health.ended(now, outcome, probe, [health]);
}

export const everyPolicy = new Map(Object.entries(policies));
