/**
 * Circuit breaker of one target. It opens after consecutive failures, or when the target fails more often than its
 * peers (outlier ejection). While it is open, single client requests are the half-open probes; the gateway sends no
 * probes of its own, except free health checks of image targets. After it closes, the target's share of traffic ramps
 * up (slow start).
 */

/** Consecutive failures of any kind that open the breaker. */
export const failureThreshold = 5;
/** The threshold during slow start. */
export const failureThresholdInRamp = 3;
export const minOpenMs = 1000;
export const maxOpenMs = 30_000;
/** The longest wait for a probe if no other target can serve. */
const maxUrgentOpenMs = 1000;
/** A probe that has not ended by then counts as failed. */
export const probeTimeoutMs = 2000;
/** After this long without opening again, the backoff starts from the beginning. */
const resetBackoffMs = 60_000;
/** The duration of slow start. */
export const rampMs = 10_000;
export const minRampShare = 0.1;
/**
 * Successful probes that close the breaker of a partially ejected target (success threshold), such as an outlier: one
 * success does not show that the target has recovered, because part of its requests succeeded all the time.
 */
export const successThresholdIfPartial = 3;
/** The weight of one request in the failure rate (EWMA). */
const weight = 1 / 16;
/** From this failure rate on, failures in a row can be chance: the target is then ejected only partially. */
const partialFailureRate = 0.1;
/** From this failure rate on, the target is unavailable even if no other target can serve. */
const unavailableFailureRate = 0.7;

export class CircuitBreaker {
  /** The target is ejected. */
  open = false;
  /** The target was ejected while part of its requests succeeded: such a target is better than none. */
  partial = false;
  /** Why the breaker opened, for the operator. */
  reason = "";
  #failures = 0;
  /** The recent failure rate, and its value at the last success. */
  #failureRate = 0;
  #failureRateAtSuccess = 0;
  #openings = 0;
  #openedAt = 0;
  #waitMs = 0;
  #probeSince: number | undefined;
  #successfulProbes = 0;
  #closedAt: number | undefined;
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Milliseconds until the next probe. 0: now. `urgent`: no other target can serve. */
  waitMs(now: number, urgent: boolean): number {
    const probing = this.#probeSince;
    if (probing !== undefined) {
      if (now - probing < probeTimeoutMs) return probeTimeoutMs - (now - probing);
      // The probe timed out: the backoff doubles, counted from the start of the probe.
      this.#scheduleProbe(probing);
    }
    const wait = urgent ? Math.min(this.#waitMs, maxUrgentOpenMs) : this.#waitMs;
    return Math.max(0, this.#openedAt + wait - now);
  }

  /** A request is sent although the breaker is open. */
  startProbe(now: number): void {
    this.#probeSince = now;
  }

  /**
   * `probe`: the request started while the breaker was open. `isOnlyOption`: no other target can serve. Returns true if
   * the breaker has just closed.
   */
  recordSuccess(now: number, probe: boolean, isOnlyOption: boolean): boolean {
    this.#failureRate *= 1 - weight;
    this.#failureRateAtSuccess = this.#failureRate;
    if (!this.open) {
      this.#failures = 0;
      return false;
    }
    // A response to a request that started before the ejection does not show that the target has recovered.
    if (!probe) return false;
    this.#probeSince = undefined;
    this.#successfulProbes++;
    if (this.partial && !isOnlyOption && this.#successfulProbes < successThresholdIfPartial)
      return false;
    // A complete outage is over, so the failure rate from before no longer applies.
    if (!this.partial) this.#failureRate = this.#failureRateAtSuccess = 0;
    this.open = false;
    this.partial = false;
    this.#failures = 0;
    this.#closedAt = now;
    return true;
  }

  /** True: the breaker has just opened. */
  recordFailure(now: number, probe: boolean, reason: string): boolean {
    this.#failureRate += (1 - this.#failureRate) * weight;
    if (this.open) {
      // A partial failure that grows past this rate is an outage.
      if (this.partial && this.#failureRate > unavailableFailureRate) this.partial = false;
      // Of several concurrent probes, the first failure counts for all.
      if (probe && this.#probeSince !== undefined) this.#scheduleProbe(now);
      return false;
    }
    this.#failures++;
    // A target that normally fails part of its requests sometimes fails several in a row, and still serves the others.
    const partial =
      this.#failureRateAtSuccess >= partialFailureRate &&
      this.#failureRateAtSuccess < unavailableFailureRate;
    const threshold =
      this.rampShare(now) < 1 && !partial ? failureThresholdInRamp : failureThreshold;
    if (this.#failures < threshold) return false;
    this.#open(now, `${this.#failures} failures in a row, the last: ${reason}`);
    this.partial = partial;
    return true;
  }

  /** Opens for another reason than consecutive failures. `partial`: some of its requests succeed. */
  eject(now: number, reason: string, partial: boolean): void {
    this.#open(now, reason);
    this.partial = partial;
  }

  /** A probe ended with a neutral outcome: the next request may be the probe, unless this one timed out. */
  releaseProbe(now: number, probe: boolean): void {
    if (!probe || this.#probeSince === undefined) return;
    if (now - this.#probeSince >= probeTimeoutMs) this.#scheduleProbe(this.#probeSince);
    else this.#probeSince = undefined;
  }

  /** A free health check failed. */
  checkFailed(now: number): void {
    if (this.open) this.#scheduleProbe(now);
  }

  /** Milliseconds until slow start ends. 0: the target has its full share. */
  rampLeftMs(now: number): number {
    if (this.open || this.rampShare(now) === 1 || this.#closedAt === undefined) return 0;
    return this.#closedAt + rampMs - now;
  }

  /** Slow start: the part of its share of traffic that the target gets now, from 0.1 to 1. */
  rampShare(now: number): number {
    if (this.#closedAt === undefined) return 1;
    const sinceMs = now - this.#closedAt;
    if (sinceMs >= rampMs) {
      if (sinceMs >= resetBackoffMs) {
        this.#closedAt = undefined;
        this.#openings = 0;
      }
      return 1;
    }
    return minRampShare + (1 - minRampShare) * (sinceMs / rampMs);
  }

  #open(now: number, reason: string): void {
    this.open = true;
    this.partial = false;
    this.reason = reason;
    this.#failures = 0;
    this.#scheduleProbe(now);
  }

  /** Exponential backoff with jitter until the next probe. */
  #scheduleProbe(now: number): void {
    this.#probeSince = undefined;
    this.#successfulProbes = 0;
    this.#openedAt = now;
    const wait = Math.min(maxOpenMs, minOpenMs * 2 ** this.#openings);
    this.#waitMs = wait * (0.8 + 0.4 * this.#random());
    this.#openings = Math.min(this.#openings + 1, 10);
  }
}

/** Requests that go to other targets between two probes. */
const requestsBetweenProbes = 19;
/** After this long a probe is allowed without a passed health check: some upstreams have none that works. */
const maxUncheckedMs = 300_000;

/**
 * Half-open probe of an image target while another target serves. Clients pay for the images, so a free health check
 * comes first; only after it passes may one request be the probe, and after a failed probe at most one request in
 * twenty.
 */
export class HalfOpenProbe {
  /** The free health check passed. */
  #checkPassed = false;
  #checking = false;
  #failed = false;
  #skipped = 0;
  #since: number;

  constructor(now: number) {
    this.#since = now;
  }

  /** A request goes to another target. True: the health check is due. */
  skip(): boolean {
    this.#skipped++;
    if (this.#checkPassed || this.#checking) return false;
    this.#checking = true;
    return true;
  }

  onChecked(isUp: boolean): void {
    this.#checking = false;
    this.#checkPassed = isUp;
  }

  /** Whether one request may be sent as the probe. */
  mayProbe(now: number): boolean {
    if (now < this.#since) this.#since = now;
    if (!this.#checkPassed && now - this.#since < maxUncheckedMs) return false;
    return !this.#failed || this.#skipped >= requestsBetweenProbes;
  }

  /** The probe failed. */
  failed(now: number): void {
    this.#failed = true;
    this.#checkPassed = false;
    this.#skipped = 0;
    this.#since = now;
  }
}

/** The outcomes of one target, as its health records them. */
interface PeerHealth {
  readonly breaker: { readonly open: boolean };
  sampleCount(now: number): number;
  failureRate(now: number): number;
  state(now: number, isSingle: boolean): string;
}

/** With fewer outcomes a failure rate says nothing. */
export const minSamples = 20;
export const minFailureRate = 0.2;

/** Outlier ejection: a target that fails more often than its peers is ejected, but never more than half of them. */
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

export const recentOutcomesCapacity = 64;
const maxAgeMs = 300_000;

/** Sliding window over a target's latest outcomes, bounded by count and age. */
export class OutcomeWindow {
  readonly #times = new Float64Array(recentOutcomesCapacity);
  readonly #failed = new Uint8Array(recentOutcomesCapacity);
  #added = 0;

  add(now: number, succeeded: boolean): void {
    const at = this.#added % recentOutcomesCapacity;
    this.#times[at] = now;
    this.#failed[at] = succeeded ? 0 : 1;
    this.#added++;
  }

  count(now: number): number {
    let count = 0;
    for (let at = 0; at < Math.min(this.#added, recentOutcomesCapacity); at++)
      if (this.#counts(at, now)) count++;
    return count;
  }

  /** The share of failures. 0 without outcomes. */
  failureRate(now: number): number {
    let [count, failed] = [0, 0];
    for (let at = 0; at < Math.min(this.#added, recentOutcomesCapacity); at++) {
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
