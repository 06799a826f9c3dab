/**
 * Emits key.created and key.revoked, and key.expiring once for each API key that expires within a week. The
 * command line and other replicas change keys too, so the changes are read from the key store, from the revision up to
 * which events were emitted.
 */

import type { Emit, EmittedEvent } from "../../contract/events.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { errorMessage } from "../lib/error-code.ts";
import type { EventStore } from "../storage/sql/event-store.ts";
import type { KeyStore } from "../storage/sql/key-store.ts";
import type { KeyChange } from "../storage/sql/stored-key.ts";
import type { Events } from "./events.ts";

interface KeyEventsOptions {
  readonly store: Pick<EventStore, "mark" | "setMark">;
  readonly emit: Emit;
  readonly flush: Events["flush"];
  /** Called when the key history, or the position in it, could not be read, or the position could not be saved. */
  readonly report: (problem: string) => void;
}

const markName = "key-revision";
/**
 * Events of one page are recorded before the next page is read, which bounds the events in memory. Events that cannot
 * be recorded stay in memory up to the bound of `events.ts`; further events are lost, and the log says so.
 */
const pageSize = 1000;

/** Called whenever keys may have changed. The first call finds the changes made while the gateway was down. */
export function createKeyEvents({ store, emit, flush, report }: KeyEventsOptions) {
  let revision: number | undefined;

  const saveMark = async (position: number): Promise<void> => {
    try {
      await store.setMark(markName, position);
    } catch (error) {
      report(errorMessage(error));
    }
  };

  const emitChanges = async (keys: Pick<KeyStore, "changesSince">): Promise<void> => {
    // If the position cannot be read, nothing is emitted, and the next call tries again from there.
    revision ??= await store.mark(markName);
    const start = revision;
    let position = start ?? 0;
    for (let hasMore = true; hasMore; ) {
      const page = await keys.changesSince(position, pageSize);
      // Without a saved position, as in a new store, existing keys emit no events.
      const changes = start === undefined ? [] : page.changes.flatMap(eventsOf);
      // A key that was created and revoked has both events, between which other keys may have changed.
      for (const { event } of changes.toSorted((a, b) => a.at - b.at)) emit(event);
      await flush();
      hasMore = page.hasMore;
      const isUnchanged = page.revision === position && start !== undefined;
      position = page.revision;
      // The first position is saved after the last page: if a page cannot be read, the next call skips all existing
      // keys.
      if (isUnchanged || (start === undefined && hasMore)) continue;
      revision = position;
      await saveMark(position);
    }
  };

  let previous: Promise<void> = Promise.resolve();
  return (keys: Pick<KeyStore, "changesSince">): Promise<void> => {
    // One after the other: two readers of the same changes would emit them twice.
    previous = previous
      .then(() => emitChanges(keys))
      .catch((error: unknown) => report(errorMessage(error)));
    return previous;
  };
}

type KeyEvent = EmittedEvent<"key.created"> | EmittedEvent<"key.revoked">;

interface TimedEvent {
  readonly at: number;
  readonly event: KeyEvent;
}

/** A revoked key does not change again, so a change of a revoked key is its revocation. */
function eventsOf({ key, isNew }: KeyChange): TimedEvent[] {
  const { id, name, project, models, createdAt, revokedAt } = key;
  const named = { id, name, ...(project !== undefined && { project }) };
  const events: TimedEvent[] = [];
  if (isNew) {
    const data = { ...named, models };
    const event: KeyEvent = { type: "key.created", data, deduplicationKey: `key.created ${id}` };
    events.push({ at: createdAt, event });
  }
  if (revokedAt !== null) {
    const event: KeyEvent = {
      type: "key.revoked",
      data: named,
      deduplicationKey: `key.revoked ${id}`,
    };
    events.push({ at: revokedAt, event });
  }
  return events;
}

interface ExpiringKeysOptions {
  readonly snapshot: () => Snapshot;
  readonly emit: Emit;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A week: long enough to include a working day. */
const noticeMs = 7 * 86_400_000;

/** Called periodically. */
export const createExpiringKeys =
  ({ snapshot, emit, now }: ExpiringKeysOptions) =>
  (): void => {
    const time = now();
    for (const { id, name, project, expiresAt } of snapshot().keys.values()) {
      if (expiresAt === undefined || expiresAt <= time || expiresAt > time + noticeMs) continue;
      const expires_at = new Date(expiresAt).toISOString();
      emit({
        type: "key.expiring",
        data: { id, name, ...(project !== undefined && { project }), expires_at },
        deduplicationKey: `key.expiring ${id} ${expires_at}`,
      });
    }
  };
