/**
 * The fuse before one target. It blows when calls fail one after the other, or when more fail than elsewhere; then the
 * target is left alone, and now and then one caller's call shows whether it is back. No call is made for that alone.
 */

/** So many failures in a row, whatever they are. */
const inARow = 5;
/** Just after it came back, it is watched more closely. */
const inARowAtFirst = 3;
const firstWaitMs = 1000;
const longestWaitMs = 30_000;
/** Where nobody else can serve, it is tried this often. */
const urgentWaitMs = 1000;
/** A probe that has not ended by then counts as failed. */
export const staleProbeMs = 2000;
/** Back for so long without a fall, and it is as good as new. */
const forgetMs = 60_000;
/** How long it takes until it gets its full share again. */
const rampMs = 10_000;
const leastShare = 0.1;
/** Of one that only failed more often than others, a single good answer says little. */
const goodProbesWhenPartial = 3;
/** How much a call counts in the share of those that failed lately, and from which share on failures are nothing new. */
const [weight, usualFailing] = [1 / 16, 0.1];
/** From this share on, it is better left alone even where nobody else can serve. */
const hopeless = 0.7;

export class Breaker {
  /** It is left alone. */
  open = false;
  /** Some of its calls succeeded all the same: better than nobody. */
  partial = false;
  /** For a person: what it was that blew. */
  why = "";
  #failures = 0;
  /** The share that failed lately; and what it was when a call last succeeded. */
  #failing = 0;
  #failingBefore = 0;
  #falls = 0;
  #openedAt = 0;
  #waitMs = 0;
  #probeSince: number | undefined;
  #goodProbes = 0;
  #closedAt: number | undefined;
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Milliseconds until one call may try. 0: now. `urgent`: nobody else can serve. */
  waitMs(now: number, urgent: boolean): number {
    // A clock that jumped back must not make the wait any longer.
    if (now < this.#openedAt) this.#openedAt = now;
    const probing = this.#probeSince;
    if (probing !== undefined && now >= probing) {
      if (now - probing < staleProbeMs) return staleProbeMs - (now - probing);
      // It did not come back in time, whatever becomes of it: the next one waits longer, from when this one began.
      this.#wait(probing);
    }
    const wait = urgent ? Math.min(this.#waitMs, urgentWaitMs) : this.#waitMs;
    return Math.max(0, this.#openedAt + wait - now);
  }

  /** A call goes there although it is open. */
  probe(now: number): void {
    this.#probeSince = now;
  }

  /** `probe`: the call began while it was open. True: it is closed again. `lone`: nobody else can serve. */
  succeeded(now: number, probe: boolean, lone: boolean): boolean {
    this.#failing *= 1 - weight;
    this.#failingBefore = this.#failing;
    if (!this.open) {
      this.#failures = 0;
      return false;
    }
    // An answer to a question from before says nothing about now.
    if (!probe) return false;
    this.#probeSince = undefined;
    this.#goodProbes++;
    if (this.partial && !lone && this.#goodProbes < goodProbesWhenPartial) return false;
    // Of one that served nobody, what was before says nothing about now.
    if (!this.partial) this.#failing = this.#failingBefore = 0;
    this.open = false;
    this.partial = false;
    this.#failures = 0;
    this.#closedAt = now;
    return true;
  }

  /** True: it has just blown. */
  failed(now: number, probe: boolean, why: string): boolean {
    this.#failing += (1 - this.#failing) * weight;
    if (this.open) {
      // Failing more and more, and nothing but failing, are two things.
      if (this.partial && this.#failing > hopeless) this.partial = false;
      // Of several that went there at once, the first to fail says it for all.
      if (probe && this.#probeSince !== undefined) this.#wait(now);
      return false;
    }
    this.#failures++;
    // One that fails now and then fails several times in a row as well, and serves the others all the same.
    const partial = this.#failingBefore >= usualFailing && this.#failingBefore < hopeless;
    const most = this.share(now) < 1 && !partial ? inARowAtFirst : inARow;
    if (this.#failures < most) return false;
    this.#blow(now, `${this.#failures} failures in a row, the last: ${why}`);
    this.partial = partial;
    return true;
  }

  /** For another reason than failures in a row. `partial`: some of its calls succeed. */
  eject(now: number, why: string, partial: boolean): void {
    this.#blow(now, why);
    this.partial = partial;
  }

  /** A probe ended without telling anything: the next call may be one, unless this one had its time. */
  released(now: number, probe: boolean): void {
    if (!probe || this.#probeSince === undefined) return;
    if (now - this.#probeSince >= staleProbeMs) this.#wait(this.#probeSince);
    else this.#probeSince = undefined;
  }

  /** It was looked at in another way than by a call, and is not back. */
  stillDown(now: number): void {
    if (this.open) this.#wait(now);
  }

  /** Milliseconds until it has its full share. 0 where it has. */
  rampLeftMs(now: number): number {
    if (this.open || this.share(now) === 1 || this.#closedAt === undefined) return 0;
    return this.#closedAt + rampMs - now;
  }

  /** How much of its share it should have by now, from a tenth to 1. */
  share(now: number): number {
    if (this.#closedAt === undefined) return 1;
    const back = now - this.#closedAt;
    // A clock that jumped back does not begin it anew.
    if (back >= rampMs || back < 0) {
      if (back >= forgetMs || back < 0) this.#closedAt = undefined;
      if (this.#closedAt === undefined) this.#falls = 0;
      return 1;
    }
    return leastShare + (1 - leastShare) * (back / rampMs);
  }

  #blow(now: number, why: string): void {
    this.open = true;
    this.partial = false;
    this.why = why;
    this.#failures = 0;
    this.#wait(now);
  }

  /** Longer each time, and never for all at the same moment. */
  #wait(now: number): void {
    this.#probeSince = undefined;
    this.#goodProbes = 0;
    this.#openedAt = now;
    const wait = Math.min(longestWaitMs, firstWaitMs * 2 ** this.#falls);
    this.#waitMs = wait * (0.8 + 0.4 * this.#random());
    this.#falls = Math.min(this.#falls + 1, 10);
  }
}
