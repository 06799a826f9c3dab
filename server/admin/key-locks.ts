/**
 * Locked limits of API keys: a limit or a budget that an administrator set on a key is an upper bound for developers.
 * They may lower it, and return to it; only an administrator raises or removes it. A key with such a bound also keeps
 * its project and its end, and gets no further models: otherwise its requests would leave the bound.
 */
import { can, type Role } from "../../contract/admin.ts";
import { message } from "../../contract/messages/message.ts";
import type { Message } from "../../contract/messages/message-format.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { matchesGlob } from "../lib/glob.ts";
import type { KeySettings, KeyUpdate } from "../storage/sql/stored-key.ts";

type Locks = NonNullable<KeySettings["locked"]>;
type Bounded = Pick<KeySettings, "limits" | "budget" | "locked">;

/** The limits and budgets of a key by the names of their fields, such as `budget.day`. */
function boundsOf({ limits = {}, budget }: Bounded): Locks {
  const { unknownPrice, ...amounts } = budget ?? {};
  const named = (group: string, values: object): [string, number][] =>
    Object.entries(values).map(([name, value]) => [`${group}.${name}`, value]);
  return {
    ...Object.fromEntries([...named("limits", limits), ...named("budget", amounts)]),
    ...(unknownPrice === "refuse" && { "budget.unknownPrice": unknownPrice }),
  };
}

/** A key without `locked` was created on the command line: all of its bounds are locked. */
export const locksOf = (key: Bounded): Locks => key.locked ?? boundsOf(key);

/** The locks of a key that is created, or changed from `before`, by a user with this role. */
export function locksAfter(role: Role, before: Bounded | undefined, after: Bounded): Locks {
  const locks = before ? locksOf(before) : {};
  if (!can(role, "administer")) return locks;
  const bounds = before ? boundsOf(before) : {};
  // A value that the administrator left as it was keeps its lock, or stays the developer's.
  const entries = Object.entries(boundsOf(after)).map(
    ([name, value]) => [name, value === bounds[name] ? locks[name] : value] as const,
  );
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Locks;
}

/** Throws if a developer would get around a lock with this change. */
export function requireWithinLocks(role: Role, before: KeyUpdate, after: KeyUpdate): void {
  if (isUnlocked(role, before)) return;
  const bounds = boundsOf(after);
  for (const [name, locked] of Object.entries(locksOf(before))) {
    if (isWithin(bounds[name], locked)) continue;
    throw refused(name, message("limit_locked", { name, value: locked }));
  }
  if (after.project !== before.project) throw refused("project", message("key_project_locked"));
  if (expiryOf(after) > expiryOf(before)) throw refused("expires", message("key_expiry_locked"));
  const added = after.models.find((pattern) => !isCovered(pattern, before.models));
  if (added !== undefined)
    throw refused("models", message("key_models_locked", { models: JSON.stringify(added) }));
}

/** Whether the user may change everything of the key. */
export const isUnlocked = (role: Role, key: Bounded): boolean =>
  can(role, "administer") || Object.keys(locksOf(key)).length === 0;

const isWithin = (value: Locks[string] | undefined, locked: Locks[string]): boolean =>
  typeof value === "number" && typeof locked === "number" ? value <= locked : value === locked;

const expiryOf = ({ expiresAt }: KeyUpdate): number => expiresAt ?? Number.POSITIVE_INFINITY;

const isCovered = (pattern: string, patterns: readonly string[]): boolean =>
  patterns.includes(pattern) ||
  patterns.includes("*") ||
  (!/[*?]/.test(pattern) && patterns.some((each) => matchesGlob(each, pattern)));

const refused = (param: string, reason: Message): GatewayError =>
  new GatewayError("permission_denied", reason, { param });
