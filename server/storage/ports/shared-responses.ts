/** Shared responses: the part of a response store that all replicas reach, in a database or an object store. */
import type { ResponseMetadata, StoredResponse } from "./response-store.ts";

export interface SharedResponses {
  /** Copies the body. It is not visible until it has a name. */
  copy(id: string, response: StoredResponse): Promise<void>;
  /** Publishes a copied body under these names, in place of earlier responses. */
  name(
    id: string,
    length: number,
    names: readonly string[],
    metadata: ResponseMetadata,
  ): Promise<void>;
  /** Undefined when no response has this name, or when it has expired. */
  find(name: string): Promise<StoredResponse | undefined>;
  /** Deletes expired responses. */
  sweep(): Promise<void>;
}
