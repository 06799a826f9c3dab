/** The thresholds of one budget, for the event `budget.threshold`. Each is reported once. */

/** Thresholds that cause an event, in percent. */
const thresholds = [50, 80, 100] as const;
export type Threshold = (typeof thresholds)[number];

/** `used` and `limit`: nano-dollars. */
export class ReportedThresholds {
  /** The highest reported threshold, and the limit that it belongs to. */
  #reported: Threshold | 0 = 0;
  #limit: number | undefined;

  /** `before`: thresholds that this amount reaches at the first call count as reported. */
  watch(before: number, used: number, limit: number): void {
    if (this.#limit === limit) return;
    const reached = highestThreshold(this.#limit === undefined ? before : used, limit);
    // After the limit is lowered, newly reached thresholds are reported. After it is raised, thresholds can be reported
    // again.
    if (this.#limit === undefined || reached < this.#reported) this.#reported = reached;
    this.#limit = limit;
  }

  /**
   * Thresholds that are reached and not yet reported. `isRefused`: a request was refused until the period ends. With
   * half the budget used, the 100 % threshold then counts as reached: the rest is too small to use.
   */
  new(used: number, limit: number, isRefused: boolean): readonly Threshold[] {
    const reached = highestThreshold(used, limit);
    return this.#report(isRefused && Math.max(reached, this.#reported) >= 50 ? 100 : reached);
  }

  #report(reached: Threshold | 0): readonly Threshold[] {
    // The usual case: this runs after each request.
    if (reached <= this.#reported) return none;
    const newlyReached = thresholds.filter(
      (percent) => percent > this.#reported && percent <= reached,
    );
    this.#reported = reached;
    return newlyReached;
  }
}

const none: readonly Threshold[] = [];

function highestThreshold(used: number, limit: number): Threshold | 0 {
  if (used <= 0) return 0;
  return thresholds.findLast((percent) => used * 100 >= limit * percent) ?? 0;
}
