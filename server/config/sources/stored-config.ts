/** The stored entities that can be read, and the list of left-out entities, to which `mergeStored` adds more. */
import type { StoredEntity } from "../../storage/ports/config-entity-store.ts";

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
