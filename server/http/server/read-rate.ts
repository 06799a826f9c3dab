/**
 * Measures whether a client reads its response slowly. What the system has accepted counts as read: its buffers hide
 * the client's exact pace, so the rate is an average over several seconds.
 */
import type { SocketWriter } from "./socket-writer.ts";

/** The period over which the rate is measured. */
const periodMs = 10_000;
/** A client below this average rate reads slowly, in bytes per second. */
const minRate = 8 * 1024;

export class ReadRate {
  /** The client read less than the minimum in the last period, and still has not read all. */
  isSlow = false;
  /** When the current period began. Undefined while the client has read everything. */
  #periodStart: number | undefined;
  #sentAtStart = 0;

  /** Called about once a second. `now`: milliseconds. */
  sample(
    now: number,
    { sentBytes, isBlocked }: Pick<SocketWriter, "sentBytes" | "isBlocked">,
  ): void {
    if (!isBlocked) {
      this.isSlow = false;
      this.#periodStart = undefined;
      return;
    }
    const elapsedMs = this.#periodStart === undefined ? 0 : now - this.#periodStart;
    if (this.#periodStart !== undefined && elapsedMs < periodMs) return;
    if (elapsedMs > 0) this.isSlow = (sentBytes - this.#sentAtStart) * 1000 < minRate * elapsedMs;
    this.#periodStart = now;
    this.#sentAtStart = sentBytes;
  }
}
