/** The results of this browser, kept in IndexedDB. Nothing is stored on the server. */
import type { ImageParameters } from "./image-request.ts";
import type { MaskStep } from "./mask-history.ts";

export interface GalleryEntry {
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly parameters: ImageParameters;
  /** Of an edit, so that it can be run again. */
  readonly references: readonly Blob[];
  readonly maskSteps: readonly MaskStep[];
  readonly image: Blob;
  readonly durationMs: number;
  /** US dollars. `null`: unknown. */
  readonly cost: number | null;
  readonly requestId: string;
}

const databaseName = "vexel";
const storeName = "images";
const version = 3;
/** The oldest entries beyond this number are deleted. */
const maxEntries = 200;

const settled = <Result>(request: IDBRequest<Result>): Promise<Result> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** The database is closed afterwards: an open connection would block a later version of the console. */
async function withStore<Result>(
  mode: IDBTransactionMode,
  use: (store: IDBObjectStore) => Promise<Result>,
): Promise<Result> {
  const opening = indexedDB.open(databaseName, version);
  opening.onupgradeneeded = () => {
    const database = opening.result;
    // Entries of earlier versions lack members.
    if (database.objectStoreNames.contains(storeName)) database.deleteObjectStore(storeName);
    database.createObjectStore(storeName, { keyPath: "id" }).createIndex("at", "at");
  };
  const database = await settled(opening);
  try {
    return await use(database.transaction(storeName, mode).objectStore(storeName));
  } finally {
    database.close();
  }
}

/** Newest first. */
export const listGallery = (): Promise<GalleryEntry[]> =>
  withStore("readonly", async (store) => {
    const entries: GalleryEntry[] = await settled(store.index("at").getAll());
    return entries.reverse();
  });

export const addToGallery = (entry: GalleryEntry): Promise<void> =>
  withStore("readwrite", async (store) => {
    await settled(store.put(entry));
    const keys = await settled(store.index("at").getAllKeys());
    for (const key of keys.slice(0, Math.max(0, keys.length - maxEntries))) store.delete(key);
  });

export const deleteFromGallery = (id: string): Promise<void> =>
  withStore("readwrite", async (store) => {
    await settled(store.delete(id));
  });
