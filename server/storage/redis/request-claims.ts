/**
 * Claims on idempotent requests, which replicas share in Redis: of two equal requests at the same time, one is sent. A
 * claim is renewed until it is settled, which also restores one that Redis has lost. If the replica dies, the claim is
 * abandoned and stays: it is unknown whether the images were billed.
 */
import { randomUUID } from "node:crypto";
import { GatewayError } from "../../lib/gateway-error.ts";
import { createSerialize, ignoreRejection } from "../../lib/tasks.ts";
import { repeat } from "../../lib/timers.ts";
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

/** Also restores a claim that Redis has lost, unless another request has the key now. */
const renewScript = redisScript(`
local found = redis.call('HGET', KEYS[1], 'token')
if found and found ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'fingerprint', ARGV[2], 'request', ARGV[3],
  'expiry', string.format('%.0f', now + tonumber(ARGV[4])), 'state', 'held')
redis.call('PEXPIRE', KEYS[1], ARGV[5])
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
/** `retry-after` of a request that is refused because the claims are unreachable. */
const refusedRetryMs = 2000;

interface RequestClaimsOptions {
  /** As long as responses are stored. */
  readonly retentionMs: number;
  /** After this time without a renewal, a claim is abandoned. */
  readonly leaseMs?: number;
}

export class RequestClaims {
  readonly #redis: RedisConnection;
  readonly #retentionMs: number;
  readonly #leaseMs: number;

  constructor(redis: RedisConnection, options: RequestClaimsOptions) {
    this.#redis = redis;
    this.#retentionMs = options.retentionMs;
    this.#leaseMs = options.leaseMs ?? 10_000;
  }

  /** Rejects with GatewayError while Redis is unavailable: another replica may be processing the same request. */
  async claim(claim: NewClaim): Promise<ClaimAnswer> {
    const { name, fingerprint, requestId, waitsFor = "" } = claim;
    const key = `vexel:claim:${name}`;
    const token = randomUUID();
    const args = [token, fingerprint, requestId, waitsFor, this.#leaseMs, this.#retentionMs];
    const isSent = this.#redis.isAvailable;
    let reply: unknown;
    try {
      reply = await this.#redis.evaluate(claimScript, [key], args);
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) throw error;
      // A server that was paused may still execute the script.
      if (isSent) ignoreRejection(this.#renewUntilSettled(key, token, claim)({ kind: "released" }));
      throw claimsUnavailable(error);
    }
    const [state, heldBy = "", theirFingerprint = "", theirRequest = "", failure = ""] = (
      reply as unknown[]
    ).map(String);
    const earlier = { fingerprint: theirFingerprint, requestId: theirRequest };
    if (state === "held") return { kind: "held", claim: heldBy, ...earlier };
    if (state === "failed") return { kind: "failed", error: failure, ...earlier };
    if (state === "stored" || state === "abandoned") return { kind: state, ...earlier };
    return { kind: "claimed", settle: this.#renewUntilSettled(key, token, claim) };
  }

  /**
   * Renews the claim until it is settled. A settlement that does not reach Redis is repeated: the claim would be
   * abandoned otherwise, and block its key.
   */
  #renewUntilSettled(
    key: string,
    token: string,
    { fingerprint, requestId }: ClaimedRequest,
  ): (outcome: ClaimOutcome) => Promise<void> {
    let settlement: ClaimOutcome | undefined;
    // A renewal that Redis executed after the settlement would restore the claim.
    const inTurn = createSerialize();
    const send = async (): Promise<void> => {
      if (!settlement) {
        const args = [token, fingerprint, requestId, this.#leaseMs, this.#retentionMs];
        await this.#redis.evaluate(renewScript, [key], args);
        return;
      }
      const error = settlement.kind === "failed" ? settlement.error : "";
      const retentionMs = settlement.kind === "failed" ? failureMs : this.#retentionMs;
      try {
        await this.#redis.evaluate(
          settleScript,
          [key],
          [token, settlement.kind, error, retentionMs],
        );
      } catch (cause) {
        if (cause instanceof RedisUnavailableError) return;
        void stop();
        throw cause;
      }
      void stop();
    };
    const stop = repeat({ everyMs: this.#leaseMs / 3 }, () => inTurn(send));
    return (outcome) => {
      settlement = outcome;
      return inTurn(send);
    };
  }
}

const claimsUnavailable = (cause: RedisUnavailableError): GatewayError =>
  new GatewayError(
    "storage_unavailable",
    "The gateway cannot check whether this Idempotency-Key is in use, because its Redis is unreachable, so it did not send the request. Retry with the same key.",
    { retryAfterMs: refusedRetryMs, cause, logDetail: cause.message, notSent: true },
  );
