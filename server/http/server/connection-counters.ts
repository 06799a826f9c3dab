/** Counts refused and evicted connections, and reports them to the log every few seconds at most. */
import type { ConnectionReport } from "./http-server.ts";

/** Minimum interval between two reports. */
const reportMs = 5000;

export class ConnectionCounters {
  /** Since the start. */
  refused = 0;
  evicted = 0;
  readonly #report: (report: ConnectionReport) => void;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #reported = { refused: 0, evicted: 0 };
  #wasOutOfDescriptors = false;

  constructor(report: (report: ConnectionReport) => void) {
    this.#report = report;
  }

  /** Called about once a second. A shortage of descriptors is reported at once. */
  check(now: number, state: Pick<ConnectionReport, "open" | "max" | "outOfDescriptors">): void {
    const { refused, evicted } = this.#reported;
    const shortageBegins = state.outOfDescriptors && !this.#wasOutOfDescriptors;
    this.#wasOutOfDescriptors = state.outOfDescriptors;
    if (!shortageBegins && this.refused === refused && this.evicted === evicted) return;
    if (!shortageBegins && now - this.#reportedAt < reportMs) return;
    this.#reportedAt = now;
    this.#reported = { refused: this.refused, evicted: this.evicted };
    this.#report({
      ...state,
      refused: this.refused - refused,
      evicted: this.evicted - evicted,
    });
  }
}
