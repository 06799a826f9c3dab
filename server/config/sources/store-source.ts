/** The store as a source of the configuration: entities that were created at runtime, with their secrets decrypted. */
import { errorMessage } from "../../lib/error-code.ts";
import type { SecretBox } from "../../storage/encrypt-secret.ts";
import type { ConfigEntityStore, StoredEntity } from "../../storage/ports/config-entity-store.ts";
import { isEntityKind } from "../entities/entity-kinds.ts";
import { decryptSecrets } from "../entities/secret-fields.ts";
import type { ConfigSource } from "./config-source.ts";
import type { LeftOutEntity, StoredConfig } from "./stored-config.ts";

interface StoreSourceOptions {
  readonly store: ConfigEntityStore;
  readonly secrets: SecretBox;
  /** Called once when the store becomes unreadable. The entities that were read before stay in force. */
  readonly reportUnreadable: (error: unknown) => void;
  readonly pollMs?: number;
}

const pageSize = 500;

export function storeSource(options: StoreSourceOptions): ConfigSource<StoredConfig> {
  const { store, secrets, reportUnreadable, pollMs = 500 } = options;
  let seenRevision: number | undefined;
  return {
    load: async () => {
      // The revision is read first, so that a change during the read is read again, also if the read fails.
      const revision = await store.revision();
      const stored = await readStoredConfig(store, secrets);
      seenRevision = revision;
      return stored;
    },
    watch: (onChange) => {
      let isReadable = true;
      return repeat(pollMs, async () => {
        try {
          if ((await store.revision()) !== seenRevision) await onChange();
          isReadable = true;
        } catch (error) {
          if (isReadable) reportUnreadable(error);
          isReadable = false;
        }
      });
    },
  };
}

/**
 * Polling: runs `work` repeatedly, one run at a time, with a pause of `ms` before each run. Returns the function that
 * ends the polling.
 */
export function repeat(ms: number, work: () => Promise<void>): () => void {
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const schedule = (): void => {
    if (isStopped) return;
    timer = setTimeout(() => void work().then(schedule), ms);
    timer.unref();
  };
  schedule();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/** An entity whose secret cannot be decrypted is left out: the others are still loaded. */
export async function readStoredConfig(
  store: ConfigEntityStore,
  secrets: SecretBox,
): Promise<StoredConfig> {
  const entities: StoredEntity[] = [];
  const leftOut: LeftOutEntity[] = [];
  for (let cursor: string | undefined, hasMore = true; hasMore; ) {
    const page = await store.list({ cursor, limit: pageSize });
    for (const entity of page.entries) {
      const { kind, id } = entity;
      try {
        if (!isEntityKind(kind)) throw new Error(`${kind} is not a kind of entity`);
        entities.push({ ...entity, value: decryptSecrets(entity, secrets) });
      } catch (error) {
        const reason = errorMessage(error);
        leftOut.push({ kind, id, field: "", reason });
      }
    }
    cursor = page.next;
    hasMore = cursor !== undefined;
  }
  return { entities, leftOut };
}
