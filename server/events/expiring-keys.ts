/** Emits key.expiring once for each API key that expires within a week. */
import type { Snapshot } from "../config/snapshot.ts";
import type { Emit } from "./events.ts";

export interface ExpiringKeysOptions {
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
    for (const { id, name, expiresAt } of snapshot().keys.values()) {
      if (expiresAt === undefined || expiresAt <= time || expiresAt > time + noticeMs) continue;
      const expires_at = new Date(expiresAt).toISOString();
      emit({
        type: "key.expiring",
        data: { id, name, expires_at },
        deduplicationKey: `key.expiring ${id} ${expires_at}`,
      });
    }
  };
