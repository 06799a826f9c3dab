/**
 * Sign-in throttle against guessed passwords: after a few failures a name must wait before the next attempt. The wait
 * doubles with each failure. A browser in which the user has signed in before is known by a cookie and counted on its
 * own, so guesses of others do not lock the user out. Behind a proxy, an address may be the address of all users, so
 * its attempts share a token bucket and wait in line for it: a client that sends more requests does not get all of it.
 * Wrong admin tokens are only counted: the right one is long and random, and always passes.
 */

import { message } from "../../../contract/messages/message.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { TokenBucket } from "../../limits/token-bucket.ts";

/** The number of failures of a user before the first wait. */
const freeFailures = 5;
const firstWaitMs = 1_000;
const maxWaitMs = 15 * 60_000;
/** Failures expire after this time without another failure. */
const expireAfterMs = 60 * 60_000;
const maxEntries = 10_000;
/** At once or over a minute: four per second on average. */
const attemptsPerMinute = 240;
/** The longest wait in line: 20 attempts of an address wait at the same time. */
const maxLineMs = 5_000;
const maxWrongTokens = 100;

interface Failures {
  count: number;
  lastAt: number;
}

/** An attempt to sign in as a user. */
interface Attempt {
  readonly name: string;
  /** The id of the device cookie, if the cookie belongs to the user with this name. */
  readonly device?: string | undefined;
}

interface SignInThrottleOptions {
  /** Milliseconds. */
  readonly now: () => number;
  readonly sleep?: (ms: number) => Promise<void>;
}

export class SignInThrottle {
  readonly #failures = new Map<string, Failures>();
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #now: () => number;
  readonly #sleep: (ms: number) => Promise<void>;

  constructor({ now, sleep = Bun.sleep }: SignInThrottleOptions) {
    this.#now = now;
    this.#sleep = sleep;
  }

  /** Resolves when it is the turn of this attempt of the address. Throws if too many attempts wait. */
  async waitInLine(address: string): Promise<void> {
    const key = networkOf(address);
    const now = this.#now();
    const bucket = this.#buckets.get(key) ?? new TokenBucket(attemptsPerMinute, now);
    setLast(this.#buckets, key, bucket);
    const waitMs = bucket.waitMs(1, now);
    if (waitMs > maxLineMs) throw tooMany("too_many_sign_ins_from_address", waitMs - maxLineMs);
    bucket.take(1, now);
    if (waitMs > 0) await this.#sleep(waitMs);
  }

  /** Throws if the user has to wait. */
  check(attempt: Attempt): void {
    const failures = this.#current(keyOf(attempt));
    if (!failures || failures.count < freeFailures) return;
    const waitMs = Math.min(maxWaitMs, firstWaitMs * 2 ** (failures.count - freeFailures));
    const leftMs = failures.lastAt + waitMs - this.#now();
    if (leftMs > 0) throw tooMany("too_many_failed_sign_ins", leftMs);
  }

  fail(attempt: Attempt): void {
    this.#count(keyOf(attempt));
  }

  /** The attempt that was counted by `fail` has succeeded. */
  succeed(attempt: Attempt): void {
    this.#failures.delete(keyOf(attempt));
  }

  /** Returns the number of wrong admin tokens from this address. */
  countWrongToken(address: string): number {
    return this.#count(tokenKeyOf(address));
  }

  /** Throws for a wrong admin token if the address has sent many. */
  refuseWrongTokens(address: string): void {
    const failures = this.#current(tokenKeyOf(address));
    if (failures && failures.count > maxWrongTokens) {
      throw tooMany("too_many_wrong_tokens", firstWaitMs);
    }
  }

  #count(key: string): number {
    const failures = this.#current(key) ?? { count: 0, lastAt: 0 };
    failures.count++;
    failures.lastAt = this.#now();
    setLast(this.#failures, key, failures);
    return failures.count;
  }

  #current(key: string): Failures | undefined {
    const failures = this.#failures.get(key);
    return failures && this.#now() - failures.lastAt < expireAfterMs ? failures : undefined;
  }
}

type TooManyId =
  | "too_many_failed_sign_ins"
  | "too_many_sign_ins_from_address"
  | "too_many_wrong_tokens";

function tooMany(id: TooManyId, waitMs: number): GatewayError {
  const seconds = Math.ceil(waitMs / 1000);
  return new GatewayError("rate_limited", message(id, { seconds }), {
    retryAfterMs: waitMs,
  });
}

const keyOf = ({ name, device }: Attempt): string =>
  device === undefined ? `name:${name.toLowerCase()}` : `device:${device}`;

const tokenKeyOf = (address: string): string => `token:${networkOf(address)}`;

/** Keeps the map in the order of the last use, and evicts the entries that were not used for the longest time. */
function setLast<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= maxEntries) break;
    map.delete(oldest);
  }
}

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
