/** Keys are made and revoked by another process, the command line: what is new is found by comparing. */
import type { EventStore } from "../storage/events.ts";
import type { StoredKey } from "../storage/keys.ts";
import type { Emit, EmittedEvent } from "./events.ts";

export interface KeyEventsOptions {
  readonly store: Pick<EventStore, "mark" | "setMark">;
  readonly emit: Emit;
  /** Told when it could not be noted how far it has come. */
  readonly report: (problem: string) => void;
}

const markName = "keys";

/** Told of all keys there are, whenever they may be others. The first time, of what has changed while nobody looked. */
export function createKeyEvents({ store, emit, report }: KeyEventsOptions) {
  let known: ReadonlyMap<string, StoredKey> | undefined;

  const note = (keys: readonly StoredKey[]): void => {
    const latest = keys.reduce(
      (most, { createdAt, revokedAt }) => Math.max(most, createdAt, revokedAt ?? 0),
      0,
    );
    try {
      if (store.mark(markName) !== latest) store.setMark(markName, latest);
    } catch (error) {
      report(error instanceof Error ? error.message : String(error));
    }
  };

  return (keys: readonly StoredKey[]): void => {
    known ??= byId(asOf(keys, markOf(store, report)));
    const before = known;
    const news = keys.flatMap((key) => changesOf(before.get(key.id), key));
    // Several may have changed since the last look: they are told in the order in which they did.
    for (const { told } of news.toSorted((a, b) => a.at - b.at)) emit(told);
    known = byId(keys);
    note(keys);
  };
}

type KeyChange = EmittedEvent<"key.created"> | EmittedEvent<"key.revoked">;

function changesOf(
  before: StoredKey | undefined,
  key: StoredKey,
): { at: number; told: KeyChange }[] {
  const { id, name, models, createdAt, revokedAt } = key;
  const created: KeyChange = {
    type: "key.created",
    data: { id, name, models },
    once: `key.created ${id}`,
  };
  const revoked: KeyChange = { type: "key.revoked", data: { id, name }, once: `key.revoked ${id}` };
  return [
    ...(before ? [] : [{ at: createdAt, told: created }]),
    ...(revokedAt !== null && (before?.revokedAt ?? null) === null
      ? [{ at: revokedAt, told: revoked }]
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

/** As they were at that time. At the very first start all of them are taken as known. */
const asOf = (keys: readonly StoredKey[], mark = Number.POSITIVE_INFINITY): StoredKey[] =>
  keys
    .filter(({ createdAt }) => createdAt <= mark)
    .map((key) => ({
      ...key,
      revokedAt: key.revokedAt !== null && key.revokedAt <= mark ? key.revokedAt : null,
    }));

const byId = (keys: readonly StoredKey[]): ReadonlyMap<string, StoredKey> =>
  new Map(keys.map((key) => [key.id, key]));
