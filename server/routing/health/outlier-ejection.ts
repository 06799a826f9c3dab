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
  const failureRate = health.failureRate(now);
  if (failureRate < minFailureRate) return false;
  let [hasBetterPeer, ejectedCount] = [false, 1];
  for (const peer of peers) {
    if (peer === health) continue;
    if (peer.breaker.open) ejectedCount++;
    else if (peer.state(now, false) === "available" && peer.failureRate(now) < failureRate / 2)
      hasBetterPeer = true;
  }
  return hasBetterPeer && ejectedCount <= peers.length / 2;
}
