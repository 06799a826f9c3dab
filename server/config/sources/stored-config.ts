/** The stored entities, which were created at runtime, with their secrets decrypted. */
import { errorMessage } from "../../lib/error-code.ts";
import type { SecretBox } from "../../storage/encrypt-secret.ts";
import type { ConfigEntityStore, StoredEntity } from "../../storage/sql/config-entity-store.ts";
import { isEntityKind } from "../entities/entity-kinds.ts";
import { decryptSecrets } from "../entities/secret-fields.ts";

export interface StoredConfig {
  /** With their secrets in plain text, ordered by kind and id. Unchanged ones stay the same objects. */
  readonly entities: readonly StoredEntity[];
  readonly leftOut: readonly LeftOutEntity[];
}

/**
 * An entity that the snapshot does not have: its secret cannot be decrypted, or it is invalid or conflicts with the
 * file.
 */
export interface LeftOutEntity {
  readonly kind: string;
  readonly id: string;
  /** Such as `targets[0].upstream`. Empty: the whole entity. */
  readonly field: string;
  readonly reason: string;
}

export const emptyStoredConfig: StoredConfig = { entities: [], leftOut: [] };

/** `the stored model "x" is left out: targets[0].upstream: there is no upstream "y"` */
export const describeLeftOut = ({ kind, id, field, reason }: LeftOutEntity): string =>
  `the stored ${kind} ${JSON.stringify(id)} is left out: ${field === "" ? "" : `${field}: `}${reason}`;

type Store = Pick<ConfigEntityStore, "revision" | "changesSince" | "keys">;
type Read = { readonly entity: StoredEntity } | { readonly leftOut: LeftOutEntity };

/** Reads what has changed since the last read. */
export class StoredConfigReader {
  readonly #store: Store;
  readonly #secrets: SecretBox;
  #revision = -1;
  /** The latest version that was read. */
  #version = 0;
  #known: ReadonlyMap<string, Read> = new Map();
  #stored = emptyStoredConfig;

  constructor(store: Store, secrets: SecretBox) {
    this.#store = store;
    this.#secrets = secrets;
  }

  /** Whether the store differs from what is in force. What was read and could not be applied still differs. */
  async hasChanged(inForce: StoredConfig): Promise<boolean> {
    return this.#stored !== inForce || (await this.#store.revision()) !== this.#revision;
  }

  /**
   * The same object: nothing has changed. Rejects with the error of the store; the next call then reads the same
   * changes. Calls must not overlap.
   */
  async read(): Promise<StoredConfig> {
    // The revision is read first, so that a change during the read is read again.
    const revision = await this.#store.revision();
    if (revision === this.#revision) return this.#stored;
    // With an earlier revision, the database was replaced by a backup.
    const isLater = revision > this.#revision;
    const since = isLater ? this.#version : 0;
    const { changed, count } = await this.#store.changesSince(since);
    const known = new Map(isLater ? this.#known : []);
    for (const entity of changed) known.set(keyOf(entity), readEntity(entity, this.#secrets));
    if (known.size !== count) await this.#removeDeleted(known);
    this.#known = known;
    this.#revision = revision;
    this.#version = changed.reduce((latest, { version }) => Math.max(latest, version), since);
    this.#stored = storedConfigOf(known);
    return this.#stored;
  }

  async #removeDeleted(known: Map<string, Read>): Promise<void> {
    const kept = new Set((await this.#store.keys()).map(keyOf));
    for (const key of known.keys()) if (!kept.has(key)) known.delete(key);
  }
}

/** Ordered by kind and id. */
function storedConfigOf(known: ReadonlyMap<string, Read>): StoredConfig {
  const reads = [...known].sort(([one], [other]) => (one < other ? -1 : 1));
  return {
    entities: reads.flatMap(([, read]) => ("entity" in read ? [read.entity] : [])),
    leftOut: reads.flatMap(([, read]) => ("leftOut" in read ? [read.leftOut] : [])),
  };
}

const keyOf = ({ kind, id }: { readonly kind: string; readonly id: string }): string =>
  `${kind} ${id}`;

/** An entity whose secret cannot be decrypted is left out: the others are still loaded. */
function readEntity(entity: StoredEntity, secrets: SecretBox): Read {
  const { kind, id } = entity;
  try {
    if (!isEntityKind(kind)) throw new Error(`${kind} is not a kind of entity`);
    return { entity: { ...entity, value: decryptSecrets(entity, secrets) } };
  } catch (error) {
    return { leftOut: { kind, id, field: "", reason: errorMessage(error) } };
  }
}

/** All stored entities, for commands. */
export const readStoredConfig = (store: Store, secrets: SecretBox): Promise<StoredConfig> =>
  new StoredConfigReader(store, secrets).read();
