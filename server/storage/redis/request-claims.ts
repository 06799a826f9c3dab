/**
 * Claims on idempotent requests, which replicas share in Redis: of two equal requests at the same time, one is sent. A
 * claim is renewed until it is settled. If the replica dies, the claim is abandoned and stays: it is unknown whether the
 * images were billed.
 */
import { randomUUID } from "node:crypto";
import { ignoreRejection } from "../../lib/tasks.ts";
import { type RedisConnection, RedisUnavailableError, redisScript } from "./client.ts";

export type ClaimOutcome =
  /** The response is in the response store. */
  | { readonly kind: "stored" }
  /** The request ended without a response, and may be sent again. */
  | { readonly kind: "released" }
  /** The request failed, and must not be sent again for the requests that waited for it. `error`: as text. */
  | { readonly kind: "failed"; readonly error: string }
  /** The images may have been billed, and neither a response nor this fact could be stored. */
  | { readonly kind: "abandoned" };

/** The request that a claim is for. */
interface ClaimedRequest {
  readonly requestId: string;
  readonly fingerprint: string;
}

/** Except for `claimed`, `requestId` and `fingerprint` are those of the earlier request that has the claim. */
export type ClaimAnswer =
  | { readonly kind: "claimed"; readonly settle: (outcome: ClaimOutcome) => Promise<void> }
  /** The request is in flight. `claim`: to be passed to the next call. */
  | ({ readonly kind: "held"; readonly claim: string } & ClaimedRequest)
  | ({ readonly kind: "stored" } & ClaimedRequest)
  | ({ readonly kind: "failed"; readonly error: string } & ClaimedRequest)
  /** The request ended so, or its replica is gone. The images may have been billed. */
  | ({ readonly kind: "abandoned" } & ClaimedRequest);

export interface NewClaim extends ClaimedRequest {
  /** The store name of the response. */
  readonly name: string;
  /** The claim that this request waits for. Only then does it get the failure of that claim. */
  readonly waitsFor?: string | undefined;
}

const claimScript = redisScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local token, fingerprint, request, waitsFor = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local found = redis.call('HMGET', KEYS[1], 'token', 'fingerprint', 'request', 'expiry', 'state', 'error')
local state = found[5]
local isFree = not found[1] or (state == 'failed' and found[1] ~= waitsFor)
if not isFree then
  if state == 'held' and tonumber(found[4]) <= now then state = 'abandoned' end
  return { state, found[1], found[2], found[3], found[6] or '' }
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'token', token, 'fingerprint', fingerprint, 'request', request,
  'expiry', string.format('%.0f', now + tonumber(ARGV[5])), 'state', 'held')
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return { 'claimed' }
`);

const renewScript = redisScript(`
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], 'expiry', string.format('%.0f', now + tonumber(ARGV[2])))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
`);

const settleScript = redisScript(`
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
if ARGV[2] == 'released' then return redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], 'state', ARGV[2], 'error', ARGV[3])
return redis.call('PEXPIRE', KEYS[1], ARGV[4])
`);

/** How long requests that wait for a failed one find its error. */
const failureMs = 10_000;
/**
 * At the beginning of an outage, claims wait this long for Redis: a restart, or a server that responds late, must not
 * make two replicas generate the same images.
 */
const outageMs = 3000;
const retryMs = 50;
/** The bound of claims that wait to be settled. Further ones are abandoned, and block their keys. */
const maxUnsettled = 16_384;

interface RequestClaimsOptions {
  /** As long as responses are stored. */
  readonly retentionMs: number;
  /** After this time without a renewal, a claim is abandoned. */
  readonly leaseMs?: number;
}

interface Settlement {
  readonly key: string;
  readonly token: string;
  readonly outcome: ClaimOutcome;
}

export class RequestClaims {
  readonly #redis: RedisConnection;
  readonly #retentionMs: number;
  readonly #leaseMs: number;
  #isShortOutage = false;
  /** Claims that ended while Redis was unavailable. */
  readonly #unsettled = new Set<Settlement>();

  constructor(redis: RedisConnection, options: RequestClaimsOptions) {
    this.#redis = redis;
    this.#retentionMs = options.retentionMs;
    this.#leaseMs = options.leaseMs ?? 10_000;
    redis.onChange(({ isAvailable }) => {
      this.#isShortOutage = !isAvailable;
      if (isAvailable) {
        ignoreRejection(this.#settlePending());
      } else {
        setTimeout(() => {
          this.#isShortOutage = false;
        }, outageMs).unref();
      }
    });
  }

  /** Undefined: the claims are unreachable, and the request proceeds without one. */
  async claim(claim: NewClaim): Promise<ClaimAnswer | undefined> {
    const { name, fingerprint, requestId, waitsFor = "" } = claim;
    const key = `vexel:claim:${name}`;
    const token = randomUUID();
    const args = [token, fingerprint, requestId, waitsFor, this.#leaseMs, this.#retentionMs];
    const mayBeSent = this.#redis.isAvailable || this.#isShortOutage;
    const reply = await this.#evaluate(key, args);
    if (reply === undefined) {
      if (!mayBeSent) return undefined;
      // A server that was paused may still execute the script. Then the claim must last as long as the request, so that
      // no other replica sends it meanwhile, and must be settled.
      const settle = this.#hold(key, token);
      if (waitsFor === "") return { kind: "claimed", settle };
      ignoreRejection(settle({ kind: "released" }));
      return undefined;
    }
    const [state, heldBy, theirFingerprint, theirRequest, error] = (reply as unknown[]).map(String);
    const earlier = { fingerprint: theirFingerprint ?? "", requestId: theirRequest ?? "" };
    // The first reply was lost.
    const isOwn = heldBy === token;
    if (state === "held" && !isOwn) return { kind: "held", claim: heldBy ?? "", ...earlier };
    if (state === "failed") return { kind: "failed", error: error ?? "", ...earlier };
    if (state === "stored" || state === "abandoned") return { kind: state, ...earlier };
    return { kind: "claimed", settle: this.#hold(key, token) };
  }

  /** Undefined during an outage that is not short. */
  async #evaluate(key: string, args: readonly (string | number)[]): Promise<unknown> {
    for (;;) {
      try {
        return await this.#redis.evaluate(claimScript, [key], args);
      } catch (error) {
        if (!(error instanceof RedisUnavailableError)) throw error;
        if (!this.#isShortOutage) return undefined;
        await Bun.sleep(retryMs);
      }
    }
  }

  /** Renews the claim until it is settled. */
  #hold(key: string, token: string): (outcome: ClaimOutcome) => Promise<void> {
    const renew = () =>
      this.#redis.evaluate(renewScript, [key], [token, this.#leaseMs, this.#retentionMs]);
    // If Redis is unavailable for longer than the lease, the other replicas treat the claim as abandoned.
    const renewing = setInterval(() => ignoreRejection(renew()), this.#leaseMs / 3);
    renewing.unref();
    return (outcome) => {
      clearInterval(renewing);
      return this.#settle({ key, token, outcome });
    };
  }

  /** While Redis is unavailable, the claim waits: if it were not settled, it would be abandoned, and block its key. */
  async #settle(settlement: Settlement): Promise<void> {
    try {
      await this.#sendSettlement(settlement);
    } catch (error) {
      const isFull = this.#unsettled.size >= maxUnsettled;
      if (isFull || !(error instanceof RedisUnavailableError)) throw error;
      this.#unsettled.add(settlement);
      // The command failed with an earlier connection.
      if (this.#redis.isAvailable) await this.#settlePending();
    }
  }

  async #settlePending(): Promise<void> {
    for (const settlement of this.#unsettled) {
      try {
        await this.#sendSettlement(settlement);
      } catch (error) {
        // The others are settled when Redis is available again.
        if (error instanceof RedisUnavailableError) return;
      }
      this.#unsettled.delete(settlement);
    }
  }

  async #sendSettlement({ key, token, outcome }: Settlement): Promise<void> {
    const error = outcome.kind === "failed" ? outcome.error : "";
    const keptMs = outcome.kind === "failed" ? failureMs : this.#retentionMs;
    await this.#redis.evaluate(settleScript, [key], [token, outcome.kind, error, keptMs]);
  }
}
