/**
 * Slows down guessing of passwords: after a few failures a name, and an address, must wait before the next attempt,
 * each time twice as long.
 */
import { GatewayError } from "../../lib/gateway-error.ts";

const freeFailures = 5;
const firstWaitMs = 1_000;
const maxWaitMs = 15 * 60_000;
/** Failures are forgotten after this time without another. */
const forgetAfterMs = 60 * 60_000;
const maxEntries = 10_000;

interface Failures {
  count: number;
  lastAt: number;
}

export class SignInThrottle {
  readonly #failures = new Map<string, Failures>();
  readonly #now: () => number;

  /** `now`: milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Throws if a name or an address has to wait. */
  check(name: string, address: string): void {
    const waitMs = Math.max(this.#waitMs(nameKey(name)), this.#waitMs(addressKey(address)));
    if (waitMs <= 0) return;
    throw new GatewayError(
      "rate_limited",
      `Too many failed sign-ins. Try again in ${Math.ceil(waitMs / 1000)} seconds.`,
      { retryAfterMs: waitMs },
    );
  }

  fail(name: string, address: string): void {
    for (const key of [nameKey(name), addressKey(address)]) {
      const failures = this.#current(key) ?? { count: 0, lastAt: 0 };
      failures.count++;
      failures.lastAt = this.#now();
      // Deleted first, so that the map stays in the order of the last failure.
      this.#failures.delete(key);
      this.#failures.set(key, failures);
    }
    for (const key of this.#failures.keys()) {
      if (this.#failures.size <= maxEntries) break;
      this.#failures.delete(key);
    }
  }

  /** A success clears the name. The address keeps its failures: it may be guessing other names. */
  succeed(name: string): void {
    this.#failures.delete(nameKey(name));
  }

  #current(key: string): Failures | undefined {
    const failures = this.#failures.get(key);
    return failures && this.#now() - failures.lastAt < forgetAfterMs ? failures : undefined;
  }

  #waitMs(key: string): number {
    const failures = this.#current(key);
    if (!failures || failures.count < freeFailures) return 0;
    const waitMs = Math.min(maxWaitMs, firstWaitMs * 2 ** (failures.count - freeFailures));
    return failures.lastAt + waitMs - this.#now();
  }
}

const nameKey = (name: string): string => `name:${name.toLowerCase()}`;
const addressKey = (address: string): string => `address:${address}`;
