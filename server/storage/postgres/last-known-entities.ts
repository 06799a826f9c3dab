/**
 * A store of configuration entities that copies what it reads to the data folder. Until the database was read once, the
 * copy replaces a database that is unreachable; later, readers get the error and keep what they have.
 */
import type {
  ConfigEntityStore,
  EntityKey,
  ExpectedVersion,
  JsonObject,
  StoredEntity,
} from "../ports/config-entity-store.ts";
import type { Page, PageRequest } from "../ports/page.ts";
import type { LastKnownConfig } from "../sqlite/last-known-config.ts";
import { isUnavailable } from "../unavailable.ts";

export class LastKnownEntities implements ConfigEntityStore {
  readonly #store: ConfigEntityStore;
  readonly #copy: LastKnownConfig;
  #hasRead = false;
  /** The revision that was read before the pages that are being read. */
  #revision: number | undefined;
  #pages: StoredEntity[] = [];

  constructor(store: ConfigEntityStore, copy: LastKnownConfig) {
    this.#store = store;
    this.#copy = copy;
  }

  async revision(): Promise<number> {
    const known = this.#hasRead ? undefined : this.#copy.revision("config");
    try {
      this.#revision = await this.#store.revision();
      this.#hasRead = true;
      return this.#revision;
    } catch (error) {
      if (!isUnavailable(error) || known === undefined) throw error;
      return known;
    }
  }

  async list(request: PageRequest): Promise<Page<StoredEntity>> {
    try {
      const page = await this.#store.list(request);
      this.#save(request, page);
      return page;
    } catch (error) {
      const hasCopy = !this.#hasRead && this.#copy.revision("config") !== undefined;
      if (!isUnavailable(error) || !hasCopy) throw error;
      return { entries: this.#copy.entities() };
    }
  }

  get(key: EntityKey): Promise<StoredEntity | undefined> {
    return this.#store.get(key);
  }

  put(
    entity: EntityKey & { readonly value: JsonObject },
    expected: ExpectedVersion,
    at: number,
  ): Promise<StoredEntity> {
    return this.#store.put(entity, expected, at);
  }

  delete(key: EntityKey, expected: ExpectedVersion): Promise<boolean> {
    return this.#store.delete(key, expected);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  /** After the last page. Entities may have changed since the revision was read: then they are read again. */
  #save({ cursor }: PageRequest, { entries, next }: Page<StoredEntity>): void {
    this.#pages = cursor === undefined ? [...entries] : [...this.#pages, ...entries];
    if (next === undefined && this.#revision !== undefined)
      this.#copy.saveEntities(this.#pages, this.#revision);
  }
}
