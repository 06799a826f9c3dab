/** Keys that will soon stop working are told of once, while there is time to make others. */
import type { Snapshot } from "../config/snapshot.ts";
import type { Emit } from "./events.ts";

export interface ExpiringKeysOptions {
  readonly snapshot: () => Snapshot;
  readonly emit: Emit;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A week: long enough to hear of it on a working day. */
const soonMs = 7 * 86_400_000;

/** To be called now and then. */
export const createExpiringKeys =
  ({ snapshot, emit, now }: ExpiringKeysOptions) =>
  (): void => {
    const time = now();
    for (const { id, name, expiresAt } of snapshot().keys.values()) {
      if (expiresAt === undefined || expiresAt <= time || expiresAt > time + soonMs) continue;
      const expires_at = new Date(expiresAt).toISOString();
      emit({
        type: "key.expiring",
        data: { id, name, expires_at },
        once: `key.expiring ${id} ${expires_at}`,
      });
    }
  };
