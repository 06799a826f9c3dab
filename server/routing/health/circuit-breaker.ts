/**
 * The state machine of one target: circuit breaker (closed, open, half-open) and cool-down, and which of its errors are
 * further failures. Five failures in a row open the breaker. While it is open, single client requests are the half-open
 * probes; the gateway sends no probes of its own, except free health checks of image targets.
 * docs/routing-and-failover.md has the diagram.
 */
import { areLargeExtraFields } from "../../lib/large-json.ts";

/** Consecutive failures that open the breaker. */
const failureThreshold = 5;
/** The wait until the first probe, and the longest one: if probes are billed, they are rare. */
const [minOpenMs, maxOpenMs, maxPaidOpenMs] = [1000, 30_000, 300_000];
/** The longest wait for a probe if no other target can serve. */
const maxUrgentOpenMs = 1000;
/** The longest cool-down, even if `retry-after` is longer: the target's limits may be raised meanwhile. */
const maxCoolDownMs = 300_000;

/**
 * `healthy`: the circuit is closed. `cooling`: the target reported that its limit is reached. `ejected`: the circuit is
 * open. `half_open`: a probe is due or in flight.
 */
export type TargetState = "healthy" | "cooling" | "ejected" | "half_open";

/**
 * Who gave the length of a cool-down. `retry-after`: the target, so an earlier request would certainly fail. `quota`:
 * the target served a request and reported that its quota is used up. `guess`: the gateway; a success ends it. After
 * `quota` and `guess` the target is still used if no healthy target is left.
 */
type CoolDownSource = "retry-after" | "quota" | "guess";

export class CircuitBreaker {
  #failures = 0;
  /** Undefined if the circuit is closed. */
  #openedAt: number | undefined;
  /** The kind of the last failure before the circuit opened. */
  #openedBy = "";
  /** The opening or the last probe, and the wait from then until the next probe. */
  #waitsSince = 0;
  #waitMs = 0;
  /** Probes since the opening, for the backoff. */
  #probes = 0;
  #isProbing = false;
  /** Set for image targets. */
  hasPaidProbes = false;
  /** 0: no cool-down is set. */
  #coolsUntil = 0;
  #coolReason = "";
  #coolDownSource: CoolDownSource = "guess";
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  get isOpen(): boolean {
    return this.#openedAt !== undefined;
  }

  state(now: number): TargetState {
    // The usual case, without a read of the times.
    if (this.#openedAt === undefined && this.#coolsUntil === 0) return "healthy";
    if (this.blockedMs(now) > 0) return "cooling";
    if (this.isOpen) return this.#isProbing || this.isProbeDue(now) ? "half_open" : "ejected";
    return this.coolDownMs(now) > 0 ? "cooling" : "healthy";
  }

  /** Why the target is not healthy, for the operator. */
  reason(now: number): string {
    const { failures, last } = this.cause(now);
    return failures === 0 ? last : `${failures} failures in a row, the last: ${last}`;
  }

  /** The last error, or why the target cools down. `failures`: those that opened the circuit. */
  cause(now: number): { readonly failures: number; readonly last: string } {
    return this.isOpen && this.blockedMs(now) === 0
      ? { failures: failureThreshold, last: this.#openedBy }
      : { failures: 0, last: this.#coolReason };
  }

  /** Milliseconds until the cool-down ends. */
  coolDownMs(now: number): number {
    if (this.#coolsUntil <= now) this.#coolsUntil = 0;
    return Math.max(0, this.#coolsUntil - now);
  }

  /** Milliseconds for which the target itself asked to get no requests. */
  blockedMs(now: number): number {
    return this.#coolDownSource === "retry-after" ? this.coolDownMs(now) : 0;
  }

  /** Milliseconds until the next probe. `isUrgent`: no other target can serve. */
  probeWaitMs(now: number, isUrgent: boolean): number {
    const waitMs = isUrgent ? Math.min(this.#waitMs, maxUrgentOpenMs) : this.#waitMs;
    return Math.max(0, this.#waitsSince + waitMs - now);
  }

  isProbeDue(now: number): boolean {
    return this.isOpen && this.blockedMs(now) === 0 && this.probeWaitMs(now, false) === 0;
  }

  /** Probes have failed for so long that their interval grows no more. */
  get isBackoffAtMax(): boolean {
    return this.#backoffMs === this.#maxOpenMs;
  }

  get #maxOpenMs(): number {
    return this.hasPaidProbes ? maxPaidOpenMs : maxOpenMs;
  }

  get #backoffMs(): number {
    return Math.min(this.#maxOpenMs, minOpenMs * 2 ** Math.min(this.#probes, 10));
  }

  /**
   * A request is sent. True: it is a half-open probe. Its success closes the circuit; until then the next one waits.
   */
  start(now: number): boolean {
    if (!this.isOpen) return false;
    this.#probes++;
    this.#isProbing = true;
    this.#scheduleProbe(now);
    return true;
  }

  /** True: the circuit has just closed. */
  recordSuccess(startedAt: number): boolean {
    this.#failures = 0;
    if (this.#coolDownSource === "guess") this.#coolsUntil = 0;
    // A response to a request that started before the opening does not show that the target has recovered.
    if (this.#openedAt === undefined || startedAt <= this.#openedAt) return false;
    this.#openedAt = undefined;
    return true;
  }

  /** True: the circuit has just opened. */
  recordFailure(now: number, reason: string): boolean {
    if (this.isOpen || ++this.#failures < failureThreshold) return false;
    this.#openedAt = now;
    this.#openedBy = reason;
    this.#failures = 0;
    this.#isProbing = false;
    this.#probes = 0;
    this.#scheduleProbe(now);
    return true;
  }

  /** A request has ended, in any way. `startedAt`: a request from before the last probe does not end that probe. */
  end(startedAt: number): void {
    if (startedAt >= this.#waitsSince) this.#isProbing = false;
  }

  /** A free health check failed: it counts as a failed probe. */
  recordFailedCheck(now: number): void {
    if (this.start(now)) this.end(now);
  }

  coolDown(now: number, waitMs: number, source: CoolDownSource, reason: string): void {
    const length = Math.min(waitMs, maxCoolDownMs);
    // The longer cool-down wins, but a length that the target gave replaces any other.
    const replaces = source === "retry-after" && this.#coolDownSource !== "retry-after";
    if (this.coolDownMs(now) >= length && !replaces) return;
    this.#coolsUntil = length > 0 ? now + length : 0;
    this.#coolDownSource = source;
    this.#coolReason = reason;
  }

  /** Exponential backoff with jitter until the next probe. */
  #scheduleProbe(now: number): void {
    this.#waitsSince = now;
    this.#waitMs = this.#backoffMs * (0.8 + 0.4 * this.#random());
  }
}

/** The client's request that an attempt belongs to. */
export interface RequestSource {
  readonly requestId: string;
  /** The id of the API key. */
  readonly client: string;
  /** What was sent: the request, or a part of it. */
  readonly query: unknown;
}

/** More than those of the requests that open the circuit breaker. */
const maxKnown = 32;
/** A client whose request was served within this time uses the target. */
const usesMs = 24 * 3_600_000;

interface ServedClient {
  readonly client: string;
  at: number;
}

/**
 * Tells a bad request from a failing target: which requests the target has answered with an error since it last
 * responded to one, and whose requests it has served. A server that cannot process a request may answer with status
 * 500, as if it had failed itself.
 */
export class FailedRequests {
  /** Since the target last responded: the fingerprints and the ids of requests. */
  readonly #known = new Set<string>();
  /** The only client whose requests failed since then. Undefined if none has failed, or those of several clients. */
  #client: string | undefined;
  /** The last two clients whose requests were served. */
  #latest: ServedClient | undefined;
  #before: ServedClient | undefined;

  /**
   * The target answered the request with an error. False: it has done so before for the same body, or for another part
   * of the same request, so this is no further failure.
   */
  add({ requestId, client, query }: RequestSource): boolean {
    if (this.#known.size === 0) this.#client = client;
    else if (this.#client !== client) this.#client = undefined;
    const fingerprint = fingerprintOf(query);
    const isKnown = this.#known.has(fingerprint) || this.#known.has(requestId);
    if (this.#known.size >= maxKnown) this.#known.clear();
    this.#known.add(fingerprint).add(requestId);
    return !isKnown;
  }

  /** The target responded to a request of this client. */
  end(now: number, client: string): void {
    if (this.#known.size > 0) {
      this.#known.clear();
      this.#client = undefined;
    }
    const latest = this.#latest;
    if (latest?.client === client) {
      latest.at = now;
      return;
    }
    this.#latest = this.#before?.client === client ? this.#before : { client, at: now };
    this.#latest.at = now;
    this.#before = latest;
  }

  /** No other client's request has failed since the target last responded. */
  areOnlyOf(client: string): boolean {
    return this.#client === client;
  }

  /** The target has served a request of another client than this one. */
  hasServedOthers(than: string, now: number): boolean {
    const other = this.#latest?.client === than ? this.#before : this.#latest;
    return other !== undefined && now - other.at < usesMs;
  }
}

const [maxEntries, maxCharacters] = [16, 1000];

/**
 * Long lists and texts are compared by their beginning, and large extra fields not at all: a step on the serving loop
 * stays short. A file that is sent again has another path.
 */
const fingerprintOf = (query: unknown): string =>
  Bun.hash(JSON.stringify(query, shorten)).toString(36);

function shorten(name: string, value: unknown): unknown {
  if (name === "path" || (name === "extraFields" && areLargeExtraFields(value as object))) {
    return undefined;
  }
  if (typeof value === "string" && value.length > maxCharacters) {
    return [value.length, value.slice(0, maxCharacters)];
  }
  if (Array.isArray(value) && value.length > maxEntries) {
    return [value.length, ...value.slice(0, maxEntries)];
  }
  return ArrayBuffer.isView(value) ? value.byteLength : value;
}
