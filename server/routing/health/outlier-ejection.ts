/** Outlier ejection: a target that fails more often than its peers is ejected, but never more than half of them. */

/** The outcomes of one target, as its health records them. */
interface PeerHealth {
  readonly breaker: { readonly open: boolean };
  sampleCount(now: number): number;
  failureRate(now: number): number;
  state(now: number, isSingle: boolean): string;
}

/** With fewer outcomes a failure rate says nothing. */
const minSamples = 20;
const minFailureRate = 0.2;

export function isOutlier(health: PeerHealth, peers: readonly PeerHealth[], now: number): boolean {
  if (peers.length < 2 || health.sampleCount(now) < minSamples) return false;
  const failing = health.failureRate(now);
  if (failing < minFailureRate) return false;
  let [better, out] = [false, 1];
  for (const peer of peers) {
    if (peer === health) continue;
    if (peer.breaker.open) out++;
    else if (peer.state(now, false) === "available" && peer.failureRate(now) < failing / 2)
      better = true;
  }
  return better && out <= peers.length / 2;
}
