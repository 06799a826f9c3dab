/**
 * Authentication by API key (ARCHITECTURE.md, step 2): finds the key by its hash and compares the hashes in constant
 * time (timing-safe, against timing attacks). Returns a `Caller`.
 */

import { timingSafeEqual } from "node:crypto";
import { keyBudgets } from "../config/budget.ts";
import { keyLimits } from "../config/limits.ts";
import type { Key, Snapshot } from "../config/snapshot.ts";
import { brand } from "../lib/branded.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { keyHash } from "../lib/key-hash.ts";
import type { Caller } from "../request/caller.ts";
import type { RequestHeaders } from "../request/http-types.ts";

const bearer = /^bearer +/i;

/**
 * Cache of authenticated headers of keep-alive connections: hashing the key takes longer than the rest of this file.
 */
const authenticatedHeaders = new WeakMap<
  RequestHeaders,
  { readonly snapshot: Snapshot; readonly caller: Caller }
>();

/** `now`: Unix milliseconds. */
export function authenticate(headers: RequestHeaders, snapshot: Snapshot, now: number): Caller {
  const cached = authenticatedHeaders.get(headers);
  if (cached?.snapshot === snapshot && !isExpired(cached.caller, now)) return cached.caller;
  const caller = findKey(headers, snapshot, now);
  authenticatedHeaders.set(headers, { snapshot, caller });
  return caller;
}

/** The ID of the valid API key of a request. Undefined without one. */
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
 * Everything after the scheme, spaces included, so that a key with spaces gets its own error message. The regular
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
      "Incorrect API key provided: it contains a space, and API keys are visible ASCII characters without spaces. Check that the Authorization or api-key header has nothing besides the key.",
    );
  }
  const hash = keyHash(presented);
  const key = snapshot.keys.get(hash);
  // The timing of the lookup reveals nothing about a key, only about its hash. The comparison is timing-safe (constant
  // time).
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

/** Buffers for the comparison, allocated once: all hashes have one length. */
const [leftBuffer, rightBuffer] = [Buffer.alloc(64), Buffer.alloc(64)];

function isEqualInConstantTime(a: string, b: string): boolean {
  const isSameLength =
    leftBuffer.write(a, "latin1") === b.length && rightBuffer.write(b, "latin1") === a.length;
  return timingSafeEqual(leftBuffer, rightBuffer) && isSameLength;
}

/** Masked like OpenAI's error messages: enough to recognize a key, not enough to use it. */
const masked = (key: string): string =>
  key.length < 16 ? "****" : `${key.slice(0, 5)}****${key.slice(-4)}`.replace(/[^\x21-\x7e]/g, "?");

/**
 * The key ID and the project of the gateway's own requests in the ledger. An operator who configures a project of this
 * name limits these requests.
 */
const internalName = "vexel-internal";

const internalKey: Key = {
  id: internalName,
  name: internalName,
  // Not a SHA-256 hash in hex, so no presented API key matches it.
  hash: "",
  models: ["*"],
  project: internalName,
  source: "embedded",
};

/** One caller per snapshot, reused because limits are looked up by the identity of its scopes. */
const callers = new WeakMap<Snapshot, Caller>();

/** The caller of the gateway's own requests, such as those of the drift canary. It has no API key. */
export function internalCaller(snapshot: Snapshot): Caller {
  const existing = callers.get(snapshot);
  if (existing) return existing;
  const { projects } = snapshot;
  const caller = brand<Key, "authenticated">({
    ...internalKey,
    ...keyLimits(internalKey, projects),
    ...keyBudgets(internalKey, projects),
  });
  callers.set(snapshot, caller);
  return caller;
}
