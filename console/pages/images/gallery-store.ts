/** The results of this browser, kept in IndexedDB. Nothing is stored on the server. */
import type { ImageParameters } from "./image-request.ts";

export interface GalleryEntry {
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly parameters: ImageParameters;
  readonly image: Blob;
  readonly durationMs: number;
  readonly cost: number | null;
}

const databaseName = "vexel";
const storeName = "images";
/** The oldest entries beyond this number are deleted. */
const maxEntries = 200;

const settled = <Result>(request: IDBRequest<Result>): Promise<Result> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

async function openStore(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  const opening = indexedDB.open(databaseName, 1);
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore(storeName, { keyPath: "id" }).createIndex("at", "at");
  };
  const database = await settled(opening);
  return database.transaction(storeName, mode).objectStore(storeName);
}

/** Newest first. */
export async function listGallery(): Promise<GalleryEntry[]> {
  const store = await openStore("readonly");
  const entries: GalleryEntry[] = await settled(store.index("at").getAll());
  return entries.reverse();
}

export async function addToGallery(entry: GalleryEntry): Promise<void> {
  const store = await openStore("readwrite");
  await settled(store.put(entry));
  const keys = await settled(store.index("at").getAllKeys());
  for (const key of keys.slice(0, Math.max(0, keys.length - maxEntries))) store.delete(key);
}

export async function deleteFromGallery(id: string): Promise<void> {
  await settled((await openStore("readwrite")).delete(id));
}
