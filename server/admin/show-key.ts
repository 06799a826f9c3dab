/** API keys as JSON of the admin API: those of the store and those of `vexel.yaml`. The key itself is not shown. */
import type { ApiKey, Origin } from "../../contract/admin.ts";
import { type Defaults, type Key, originOf, type Snapshot } from "../config/snapshot.ts";
import { dayMs } from "../lib/timers.ts";
import type { StoredKey } from "../storage/sql/stored-key.ts";
import { shownOrigin } from "./entities/show-entity.ts";
import { locksOf } from "./key-locks.ts";

const expiringWithinMs = 7 * dayMs;

function stateOf(
  revokedAt: number | null,
  expiresAt: number | undefined,
  now: number,
): ApiKey["state"] {
  if (revokedAt !== null) return "revoked";
  if (expiresAt === undefined) return "active";
  if (expiresAt <= now) return "expired";
  return expiresAt - now <= expiringWithinMs ? "expiring" : "active";
}

const timeOf = (at: number | null | undefined): string | null =>
  at === null || at === undefined ? null : new Date(at).toISOString();

const shownDefaults = (given: Defaults = {}): ApiKey["defaults"] => ({
  embedding: given.embedding ?? null,
  image: given.image ?? null,
});

const storeOrigin: Origin = { source: "store", location: null };

export const shownStored = (key: StoredKey, now: number): ApiKey =>
  shownKey(
    key,
    { hint: key.hint, origin: storeOrigin, createdAt: key.createdAt, version: key.version },
    key.revokedAt,
    now,
  );

export const shownConfigured = (key: Key, snapshot: Snapshot, now: number): ApiKey => {
  const origin = shownOrigin(originOf(snapshot, "key", key.id) ?? key);
  return shownKey(key, { hint: null, origin, createdAt: null, version: null }, null, now);
};

interface KeyOrigin extends Pick<ApiKey, "hint" | "origin" | "version"> {
  readonly createdAt: number | null;
}

const shownKey = (
  key: StoredKey | Key,
  { hint, origin, createdAt, version }: KeyOrigin,
  revokedAt: number | null,
  now: number,
): ApiKey => ({
  object: "api_key",
  id: key.id,
  name: key.name,
  hint,
  origin,
  project: key.project ?? null,
  models: key.models,
  limits: key.limits ?? null,
  budget: key.budget ?? null,
  locked: locksOf(key),
  priority: key.priority ?? null,
  show_cost: key.showCost ?? false,
  parameters: key.parameters ?? null,
  defaults: shownDefaults(key.defaults),
  created_at: timeOf(createdAt),
  created_by: "createdBy" in key ? (key.createdBy ?? null) : null,
  created_by_id: "createdById" in key ? (key.createdById ?? null) : null,
  expires_at: timeOf(key.expiresAt),
  revoked_at: timeOf(revokedAt),
  state: stateOf(revokedAt, key.expiresAt, now),
  version,
});
