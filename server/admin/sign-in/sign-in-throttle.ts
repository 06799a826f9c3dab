/**
 * Sign-in throttle against guessed passwords and admin tokens: after a few failures a name must wait before the next
 * attempt. The wait doubles with each failure. A browser in which the user has signed in before is known by a cookie
 * and counted on its own, so guesses of others do not lock the user out. An address has a higher bound and a short
 * wait: behind a proxy, it may be the address of all users.
 */
import { GatewayError } from "../../lib/gateway-error.ts";

const firstWaitMs = 1_000;
const maxNameWaitMs = 15 * 60_000;
const maxAddressWaitMs = 1_000;
/** Failures expire after this time without another failure. */
const expireAfterMs = 60 * 60_000;
const maxEntries = 10_000;

interface Failures {
  count: number;
  lastAt: number;
}

/** A sign-in attempt, or a request with an admin token. Failures are counted by browser, or by name and address. */
export interface Attempt {
  /** The attempt is with an admin token. Wrong tokens and wrong passwords count apart. */
  readonly isAdminToken?: boolean;
  /** Absent: the attempt is not for a user, such as one with the one-time link. */
  readonly name?: string;
  readonly address: string;
  /** The id of the device cookie, if the cookie belongs to the user with this name. */
  readonly device?: string | undefined;
}

interface Counter {
  readonly key: string;
  /** The number of failures before the first wait. */
  readonly freeFailures: number;
  readonly maxWaitMs: number;
}

export class SignInThrottle {
  readonly #failures = new Map<string, Failures>();
  readonly #now: () => number;

  /** `now`: milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Throws if the attempt has to wait. */
  check(attempt: Attempt): void {
    const waitMs = Math.max(...countersOf(attempt).map((counter) => this.#waitMs(counter)));
    if (waitMs <= 0) return;
    const seconds = Math.ceil(waitMs / 1000);
    throw new GatewayError(
      "rate_limited",
      attempt.isAdminToken === true
        ? `Too many requests with a wrong admin token. Try again in ${seconds} seconds.`
        : `Too many failed sign-ins. Try again in ${seconds} seconds.`,
      { retryAfterMs: waitMs },
    );
  }

  fail(attempt: Attempt): void {
    for (const { key } of countersOf(attempt)) {
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

  /**
   * The attempt that was counted by `fail` has succeeded: clears the name, the device or the admin token. The address
   * keeps its other failures, because it may be guessing other names.
   */
  succeed(attempt: Attempt): void {
    for (const { key } of countersOf(attempt)) {
      const failures = this.#failures.get(key);
      if (failures && key.startsWith("address:") && failures.count > 1) failures.count--;
      else this.#failures.delete(key);
    }
  }

  #current(key: string): Failures | undefined {
    const failures = this.#failures.get(key);
    return failures && this.#now() - failures.lastAt < expireAfterMs ? failures : undefined;
  }

  #waitMs({ key, freeFailures, maxWaitMs }: Counter): number {
    const failures = this.#current(key);
    if (!failures || failures.count < freeFailures) return 0;
    const waitMs = Math.min(maxWaitMs, firstWaitMs * 2 ** (failures.count - freeFailures));
    return failures.lastAt + waitMs - this.#now();
  }
}

function countersOf({ name, address, device, isAdminToken }: Attempt): readonly Counter[] {
  if (device !== undefined) return [userCounter(`device:${device}`)];
  const network = networkOf(address);
  if (isAdminToken === true) return [addressCounter(`token:${network}`)];
  const byAddress = addressCounter(`address:${network}`);
  return name === undefined ? [byAddress] : [userCounter(`name:${name.toLowerCase()}`), byAddress];
}

const userCounter = (key: string): Counter => ({
  key,
  freeFailures: 5,
  maxWaitMs: maxNameWaitMs,
});

const addressCounter = (key: string): Counter => ({
  key,
  freeFailures: 100,
  maxWaitMs: maxAddressWaitMs,
});

/** One person can use any address of a /64 IPv6 network, so the network counts as one address. */
function networkOf(address: string): string {
  if (!address.includes(":") || address.includes(".")) return address;
  const [before = "", after] = address.split("::");
  const groupsOf = (text: string): readonly string[] => text.split(":").filter(Boolean);
  const [first, last] = [groupsOf(before), groupsOf(after ?? "")];
  // `::` stands for the groups of zeros that are missing to eight.
  const missing = after === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  return [...first, ...Array<string>(missing).fill("0"), ...last].slice(0, 4).join(":");
}
