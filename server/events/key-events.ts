/**
 * Emits key.created and key.revoked. Another process (the command line) changes the keys, so changes are found by
 * comparison.
 */

import type { StoredKey } from "../storage/keys.ts";
import type { EventStore } from "../storage/sqlite/event-store.ts";
import type { Emit, EmittedEvent } from "./events.ts";

export interface KeyEventsOptions {
  readonly store: Pick<EventStore, "mark" | "setMark">;
  readonly emit: Emit;
  /** Called when the position in the key history could not be saved. */
  readonly report: (problem: string) => void;
}

const markName = "keys";

/**
 * Called with all keys whenever they may have changed. The first call finds the changes made while the gateway was
 * down.
 */
export function createKeyEvents({ store, emit, report }: KeyEventsOptions) {
  let previousKeys: ReadonlyMap<string, StoredKey> | undefined;

  const saveMark = (keys: readonly StoredKey[]): void => {
    const latestChange = keys.reduce(
      (latest, { createdAt, revokedAt }) => Math.max(latest, createdAt, revokedAt ?? 0),
      0,
    );
    try {
      if (store.mark(markName) !== latestChange) store.setMark(markName, latestChange);
    } catch (error) {
      report(error instanceof Error ? error.message : String(error));
    }
  };

  return (keys: readonly StoredKey[]): void => {
    previousKeys ??= byId(keysAtMark(keys, markOf(store, report)));
    const before = previousKeys;
    const changes = keys.flatMap((key) => changesOf(before.get(key.id), key));
    // Several may have changed since the last call: events are emitted in the order of the changes.
    for (const { event } of changes.toSorted((a, b) => a.at - b.at)) emit(event);
    previousKeys = byId(keys);
    saveMark(keys);
  };
}

type KeyChange = EmittedEvent<"key.created"> | EmittedEvent<"key.revoked">;

function changesOf(
  before: StoredKey | undefined,
  key: StoredKey,
): { at: number; event: KeyChange }[] {
  const { id, name, models, createdAt, revokedAt } = key;
  const created: KeyChange = {
    type: "key.created",
    data: { id, name, models },
    once: `key.created ${id}`,
  };
  const revoked: KeyChange = { type: "key.revoked", data: { id, name }, once: `key.revoked ${id}` };
  return [
    ...(before ? [] : [{ at: createdAt, event: created }]),
    ...(revokedAt !== null && (before?.revokedAt ?? null) === null
      ? [{ at: revokedAt, event: revoked }]
      : []),
  ];
}

function markOf(
  store: Pick<EventStore, "mark">,
  report: (problem: string) => void,
): number | undefined {
  try {
    return store.mark(markName);
  } catch (error) {
    report(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/** The keys at the time of `mark`. At the very first start no key counts as new. */
const keysAtMark = (keys: readonly StoredKey[], mark = Number.POSITIVE_INFINITY): StoredKey[] =>
  keys
    .filter(({ createdAt }) => createdAt <= mark)
    .map((key) => ({
      ...key,
      revokedAt: key.revokedAt !== null && key.revokedAt <= mark ? key.revokedAt : null,
    }));

const byId = (keys: readonly StoredKey[]): ReadonlyMap<string, StoredKey> =>
  new Map(keys.map((key) => [key.id, key]));
