/** Step 2: who are you. Leaves a `Caller`, which nothing else can make. */

import { timingSafeEqual } from "node:crypto";
import type { Key, Snapshot } from "../config/snapshot.ts";
import { brand } from "../lib/branded.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { keyHash } from "../lib/key-hash.ts";
import type { Caller } from "../request/caller.ts";
import type { RequestHeaders } from "../request/http-types.ts";

const bearer = /^bearer +/i;

/** Who said the very same on the same connection before. Hashing a key takes longer than all else that is done here. */
const authenticatedHeaders = new WeakMap<
  RequestHeaders,
  { readonly snapshot: Snapshot; readonly caller: Caller }
>();

/** `now`: Unix milliseconds. */
export function authenticate(headers: RequestHeaders, snapshot: Snapshot, now: number): Caller {
  const before = authenticatedHeaders.get(headers);
  if (before?.snapshot === snapshot && !isExpired(before.caller, now)) return before.caller;
  const caller = findKey(headers, snapshot, now);
  authenticatedHeaders.set(headers, { snapshot, caller });
  return caller;
}

/** The id of the valid API key that a request carries. Undefined without one. */
export function validKeyId(
  headers: RequestHeaders,
  snapshot: Snapshot,
  now: number,
): string | undefined {
  try {
    return authenticate(headers, snapshot, now).id;
  } catch {
    return undefined;
  }
}

const isExpired = ({ expiresAt }: Key, now: number): boolean =>
  expiresAt !== undefined && expiresAt <= now;

/**
 * Everything after the scheme, spaces included: a key that has spaces is refused by name, not taken for none. The
 * expression matches only the scheme, because one that also trimmed the key would backtrack over a run of spaces.
 */
function bearerKey(authorization: string): string | undefined {
  const scheme = bearer.exec(authorization)?.[0];
  return scheme === undefined ? undefined : authorization.slice(scheme.length).trim();
}

function findKey(headers: RequestHeaders, snapshot: Snapshot, now: number): Caller {
  const authorization = headers.get("authorization");
  const presented = (authorization && bearerKey(authorization)) || headers.get("api-key")?.trim();
  if (!presented) {
    throw new GatewayError(
      "missing_api_key",
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or in an api-key header.",
    );
  }
  if (/\s/.test(presented)) {
    throw new GatewayError(
      "invalid_api_key",
      "Incorrect API key provided: it has a space in it, and API keys are visible ASCII characters without spaces. Check the Authorization or api-key header for more than the key.",
    );
  }
  const hash = keyHash(presented);
  const key = snapshot.keys.get(hash);
  // The look-up reveals nothing about a key, only about its hash; the comparison that decides takes constant time.
  if (!key || !isEqualInConstantTime(key.hash, hash)) {
    throw new GatewayError(
      "invalid_api_key",
      `Incorrect API key provided: ${masked(presented)}. Ask the operator of this gateway for a key.`,
    );
  }
  if (isExpired(key, now)) {
    throw new GatewayError(
      "invalid_api_key",
      `The API key ${masked(presented)} has expired. Ask the operator of this gateway for a new one.`,
    );
  }
  return brand<Key, "authenticated">(key);
}

/** Places to compare in, made once: hashes are all of one length. */
const [one, other] = [Buffer.alloc(64), Buffer.alloc(64)];

function isEqualInConstantTime(a: string, b: string): boolean {
  const whole = one.write(a, "latin1") === b.length && other.write(b, "latin1") === a.length;
  return timingSafeEqual(one, other) && whole;
}

/** As OpenAI shows it: enough to recognise one's own key, not enough to use it. */
const masked = (key: string): string =>
  key.length < 16 ? "****" : `${key.slice(0, 5)}****${key.slice(-4)}`.replace(/[^\x21-\x7e]/g, "?");
