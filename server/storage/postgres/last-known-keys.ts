/**
 * A key store that copies what it reads to the data folder. Until the database was read once, the copy replaces a
 * database that is unreachable; later, readers get the error and keep what they have.
 */
import type { KeyChanges, KeyStore, KeyUpdate, NewKey, StoredKey } from "../ports/key-store.ts";
import type { Page, PageRequest } from "../ports/page.ts";
import type { LastKnownConfig } from "../sqlite/last-known-config.ts";
import { isUnavailable } from "../unavailable.ts";

export class LastKnownKeys implements KeyStore {
  readonly #store: KeyStore;
  readonly #copy: LastKnownConfig;
  #hasRead = false;

  constructor(store: KeyStore, copy: LastKnownConfig) {
    this.#store = store;
    this.#copy = copy;
  }

  async changesSince(revision: number, limit: number): Promise<KeyChanges> {
    try {
      const changes = await this.#store.changesSince(revision, limit);
      this.#hasRead = true;
      this.#save(revision, changes);
      return changes;
    } catch (error) {
      const known = this.#hasRead ? undefined : this.#copy.revision("keys");
      if (!isUnavailable(error) || known === undefined) throw error;
      // The copy was read already.
      if (revision > 0) throw error;
      const keys = this.#copy.keys();
      return {
        changes: keys.map((key) => ({ key, isNew: true })),
        revision: known,
        hasMore: false,
      };
    }
  }

  create(key: NewKey): Promise<void> {
    return this.#store.create(key);
  }

  findActive(idOrName: string): Promise<readonly StoredKey[]> {
    return this.#store.findActive(idOrName);
  }

  revoke(id: string, at: number): Promise<boolean> {
    return this.#store.revoke(id, at);
  }

  update(id: string, update: KeyUpdate): Promise<boolean> {
    return this.#store.update(id, update);
  }

  expire(id: string, at: number): Promise<boolean> {
    return this.#store.expire(id, at);
  }

  list(page: PageRequest): Promise<Page<StoredKey>> {
    return this.#store.list(page);
  }

  revision(): Promise<number> {
    return this.#store.revision();
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  /** Only without a gap: the copy has every change up to its revision. */
  #save(since: number, { changes, revision }: KeyChanges): void {
    const known = this.#copy.revision("keys");
    if (since > (known ?? 0) || revision <= (known ?? -1)) return;
    this.#copy.saveKeys(
      changes.map(({ key }) => key),
      revision,
    );
  }
}
