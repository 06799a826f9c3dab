/** One that fails more often than the others is left out, but never more than half of them for that. */
import type { TargetHealth } from "./target-health.ts";

/** Below so many calls a share of failures says nothing. */
const enough = 20;
const tooManyFail = 0.2;

export function isWorse(
  health: TargetHealth,
  peers: readonly TargetHealth[],
  now: number,
): boolean {
  if (peers.length < 2 || health.measured(now) < enough) return false;
  const failing = health.failing(now);
  if (failing < tooManyFail) return false;
  let [better, out] = [false, 1];
  for (const peer of peers) {
    if (peer === health) continue;
    if (peer.breaker.open) out++;
    else if (peer.standing(now, false) === "in" && peer.failing(now) < failing / 2) better = true;
  }
  return better && out <= peers.length / 2;
}
