/**
 * Answers that say yes, and also that there will be no more for a while: an upstream whose limit is used up is better
 * left alone than asked until it says no. Reading headers costs something, so an answer is only looked at where the last
 * one that was says that there may be news: who tells of limits does so in every answer, and how much is left.
 */
import type { WireReply } from "./adapter.ts";
import { callsLeft, spentMs } from "./adapters/wire/rate-limit-reset.ts";
import type { Target, Upstream } from "./contract.ts";

/** Of an upstream that tells nothing, one in so many answers is looked at. */
const seldom = 256;
/** Others may use the same account, so what is left is not relied upon for longer. */
const most = 64;
const caution = 4;

/** Told that a target has nothing left for so long. */
export type OnSpent = (target: Target, waitMs: number) => void;

export function createLimitWatch(onSpent: OnSpent): (reply: WireReply, target: Target) => void {
  /** Answers that need not be looked at. */
  const skip = new WeakMap<Upstream, { left: number }>();
  return (reply, target) => {
    const known = skip.get(target.upstream);
    if (known && known.left-- > 0) return;
    const { headers } = reply;
    const calls = callsLeft(headers);
    const left = calls === undefined ? seldom : Math.min(most, Math.floor(calls / caution));
    if (known) known.left = left;
    else skip.set(target.upstream, { left });
    const waitMs = calls === 0 ? spentMs(headers) : undefined;
    if (waitMs !== undefined) onSpent(target, waitMs);
  };
}
