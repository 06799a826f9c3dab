/** The S3 implementations of the storage ports. The location of a storage is a `BLOB_URL` with a prefix of its own. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ContentStore } from "../../../server/storage/ports/content-store.ts";
import { parseBlobUrl } from "../../../server/storage/s3/blob-url.ts";
import { ObjectStore } from "../../../server/storage/s3/object-store.ts";
import { S3Content } from "../../../server/storage/s3/s3-content.ts";
import { S3Files } from "../../../server/storage/s3/s3-files.ts";
import { S3Images } from "../../../server/storage/s3/s3-images.ts";
import { S3Responses } from "../../../server/storage/s3/s3-responses.ts";
import { type FakeS3, startFakeS3 } from "../../fake-s3.ts";
import type { Implementation } from "./backend.ts";
import { blobMaxBytes } from "./blob-store.laws.ts";
import { type ContentImplementation, contentMaxBytes } from "./content-store.laws.ts";
import {
  openContentFiles,
  openResponseFiles,
  openStoredFiles,
  secrets,
} from "./implementations.ts";
import { responseTtlMs } from "./response-store.laws.ts";

let server: FakeS3 | undefined;

const openObjects = (url: string): ObjectStore =>
  new ObjectStore({ location: parseBlobUrl(url, {}), clock: () => performance.now() });

const inBucket = <Store>(
  open: (objects: ObjectStore, now: () => number) => Store,
): Implementation<Store> => ({
  name: "S3",
  createStorage: async () => {
    server ??= startFakeS3({ pageSize: 7 });
    return { location: server.url(randomUUID()), dispose: async () => undefined };
  },
  open: async (url, now) => open(openObjects(url), now),
});

/** Each store has a data folder of its own, like a replica. */
export function openS3Content(url: string, now: () => number) {
  const folder = mkdtempSync(join(tmpdir(), "vexel-law-"));
  const store = new S3Content({
    objects: openObjects(url),
    files: openContentFiles(folder, now),
    maxBytes: contentMaxBytes,
    secrets,
    now,
  });
  const close = async () => rmSync(folder, { recursive: true, force: true });
  return Object.assign(store, { close });
}

export const s3ContentStore: ContentImplementation = {
  ...inBucket<ContentStore>(() => {
    throw new Error("opened by its URL");
  }),
  open: async (url, now) => openS3Content(url, now),
  contains: (_, text) =>
    [...(server?.objects.values() ?? [])].some(({ bytes }) => Buffer.from(bytes).includes(text)),
};

export const s3BlobStore = inBucket(
  (objects, now) => new S3Images({ objects, maxBytes: blobMaxBytes, isPresigned: false, now }),
);

/** Each store has a data folder of its own, like a replica. */
export const s3FileStore = inBucket((objects, now) => {
  const folder = mkdtempSync(join(tmpdir(), "vexel-law-"));
  const close = async () => rmSync(folder, { recursive: true, force: true });
  return Object.assign(new S3Files(objects, openStoredFiles(folder, now)), { close });
});

/** Each store has a data folder of its own, like a replica. */
export const s3ResponseStore = inBucket((objects, now) => {
  const folder = mkdtempSync(join(tmpdir(), "vexel-law-"));
  const store = new S3Responses({
    objects,
    local: openResponseFiles(folder, now),
    ttlMs: responseTtlMs,
    now,
    reportUnshared: (error) => {
      throw error;
    },
  });
  const close = async () => rmSync(folder, { recursive: true, force: true });
  return Object.assign(store, { close });
});
