/** The caller of the gateway's own requests, such as those of the drift canary. It has no API key. */
import { keyBudgets } from "../config/budget.ts";
import { keyLimits } from "../config/limits.ts";
import type { Key, Snapshot } from "../config/snapshot.ts";
import { brand } from "../lib/branded.ts";
import type { Caller } from "../request/caller.ts";

/**
 * Its key ID and its project in the ledger. An operator who configures a project of this name limits the gateway's own
 * requests.
 */
export const internalName = "vexel-internal";

const key: Key = {
  id: internalName,
  name: internalName,
  // No SHA-256 in hex, so no presented API key matches it.
  hash: "",
  models: ["*"],
  project: internalName,
  source: "embedded",
};

/** One per snapshot: limits are looked up by the identity of its scopes. */
const callers = new WeakMap<Snapshot, Caller>();

export function internalCaller(snapshot: Snapshot): Caller {
  const existing = callers.get(snapshot);
  if (existing) return existing;
  const { projects } = snapshot;
  const caller = brand<Key, "authenticated">({
    ...key,
    ...keyLimits(key, projects),
    ...keyBudgets(key, projects),
  });
  callers.set(snapshot, caller);
  return caller;
}
