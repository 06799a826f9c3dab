/** The stored entities, which were created at runtime, with their secrets decrypted. */
import { errorMessage } from "../../lib/error-code.ts";
import type { SecretBox } from "../../storage/encrypt-secret.ts";
import type { ConfigEntityStore, StoredEntity } from "../../storage/sql/config-entity-store.ts";
import { isEntityKind } from "../entities/entity-kinds.ts";
import { decryptSecrets } from "../entities/secret-fields.ts";

export interface StoredConfig {
  /** With their secrets in plain text. */
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

/** An entity whose secret cannot be decrypted is left out: the others are still loaded. */
export async function readStoredConfig(
  store: ConfigEntityStore,
  secrets: SecretBox,
): Promise<StoredConfig> {
  const entities: StoredEntity[] = [];
  const leftOut: LeftOutEntity[] = [];
  for (const entity of await store.list()) {
    const { kind, id } = entity;
    try {
      if (!isEntityKind(kind)) throw new Error(`${kind} is not a kind of entity`);
      entities.push({ ...entity, value: decryptSecrets(entity, secrets) });
    } catch (error) {
      leftOut.push({ kind, id, field: "", reason: errorMessage(error) });
    }
  }
  return { entities, leftOut };
}
