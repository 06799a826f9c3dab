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

const capacity = 64;
const maxAgeMs = 300_000;

/** Sliding window over a target's latest outcomes, bounded by count and age. */
export class OutcomeWindow {
  readonly #times = new Float64Array(capacity);
  readonly #failed = new Uint8Array(capacity);
  #added = 0;

  add(now: number, succeeded: boolean): void {
    const at = this.#added % capacity;
    this.#times[at] = now;
    this.#failed[at] = succeeded ? 0 : 1;
    this.#added++;
  }

  count(now: number): number {
    let count = 0;
    for (let at = 0; at < Math.min(this.#added, capacity); at++) if (this.#counts(at, now)) count++;
    return count;
  }

  /** The share of failures. 0 without outcomes. */
  failureRate(now: number): number {
    let [count, failed] = [0, 0];
    for (let at = 0; at < Math.min(this.#added, capacity); at++) {
      if (!this.#counts(at, now)) continue;
      count++;
      failed += this.#failed[at] as number;
    }
    return count === 0 ? 0 : failed / count;
  }

  clear(): void {
    this.#added = 0;
  }

  #counts(at: number, now: number): boolean {
    return now - (this.#times[at] as number) < maxAgeMs;
  }
}
