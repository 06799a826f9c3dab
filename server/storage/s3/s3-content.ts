/**
 * Stored content of requests in an object store, so that every replica shows it. The content is written to an encrypted
 * file first, and uploaded when it is complete. A file whose upload fails is uploaded with the next sweep.
 */
import type { SecretBox } from "../encrypt-secret.ts";
import { type ContentFiles, contentName, hashOf, StoreFullError } from "../files/content-files.ts";
import type {
  ContentStore,
  ContentWriter,
  FoundContent,
  RetentionMs,
} from "../ports/content-store.ts";
import type { ObjectStore } from "./object-store.ts";

interface S3ContentOptions {
  readonly objects: ObjectStore;
  /** Content that is not uploaded yet. */
  readonly files: ContentFiles;
  /**
   * The maximum size of the content of all replicas, as of the last sweep, and of this replica's content since then.
   */
  readonly maxBytes: number;
  readonly secrets: Pick<SecretBox, "decryptBytes">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const maxUploads = 8;

export class S3Content implements ContentStore {
  readonly #options: S3ContentOptions;
  /** The names of files that wait for an upload. */
  readonly #waiting = new Set<string>();
  /** By name. Settled when the upload has ended, also if it failed. */
  readonly #uploading = new Map<string, Promise<void>>();
  #storedBytes = 0;

  constructor(options: S3ContentOptions) {
    this.#options = options;
  }

  begin(model: string, requestId: string): ContentWriter {
    const { files, maxBytes } = this.#options;
    if (this.#storedBytes >= maxBytes) throw new StoreFullError("VEXEL_CONTENT_MAX_BYTES");
    const writer = files.begin(model, requestId);
    return {
      ...writer,
      commit: () => {
        writer.commit();
        this.#waiting.add(contentName(model, requestId));
        this.#upload();
      },
    };
  }

  async find(model: string, requestId: string): Promise<FoundContent | undefined> {
    const waiting = await this.#options.files.find(model, requestId);
    const name = contentName(model, requestId);
    if (!waiting) return this.#findObject(name);
    const { storedAt } = waiting;
    // The upload may end before the file is read.
    const read = async () => (await waiting.read()) ?? (await this.#findObject(name))?.read();
    return { storedAt, read };
  }

  async #findObject(name: string): Promise<FoundContent | undefined> {
    const { objects, secrets } = this.#options;
    const found = await objects.find(name);
    return (
      found && {
        storedAt: found.modifiedAt,
        read: async () => {
          const bytes = await objects.readBytes(name);
          try {
            return bytes && secrets.decryptBytes(Buffer.from(bytes), name);
          } catch {
            // Encrypted with a key that is not known here.
            return undefined;
          }
        },
      }
    );
  }

  async delete(model: string, requestId: string): Promise<void> {
    const { objects, files } = this.#options;
    const name = contentName(model, requestId);
    this.#waiting.delete(name);
    // An upload that ends later would write the object again.
    await this.#uploading.get(name);
    await files.delete(model, requestId);
    await objects.remove(name);
  }

  async sweep(retentionMs: RetentionMs): Promise<void> {
    const { objects, files, now } = this.#options;
    await files.sweep(retentionMs);
    for (const name of await files.names()) this.#waiting.add(name);
    this.#upload();
    const retentionByFolder = new Map([...retentionMs].map(([model, ms]) => [hashOf(model), ms]));
    const before = this.#storedBytes;
    const counted = await objects.sweep("content/", ({ key, modifiedAt }) => {
      const ms = retentionByFolder.get(key.split("/")[1] ?? "");
      return ms === undefined || modifiedAt + ms <= now();
    });
    this.#storedBytes = Math.max(0, counted + (this.#storedBytes - before));
  }

  #upload(): void {
    for (const name of this.#waiting) {
      if (this.#uploading.size >= maxUploads) return;
      this.#waiting.delete(name);
      if (this.#uploading.has(name)) continue;
      const upload = this.#uploadOne(name).finally(() => {
        this.#uploading.delete(name);
        this.#upload();
      });
      this.#uploading.set(name, upload);
    }
  }

  async #uploadOne(name: string): Promise<void> {
    const { objects, files } = this.#options;
    try {
      const file = Bun.file(files.pathOf(name));
      const { size } = await file.stat();
      await objects.write(name, file.stream(), "application/octet-stream");
      this.#storedBytes += size;
      await files.remove(name);
    } catch {
      // Deleted meanwhile, or the object store is not available, which it has reported.
    }
  }
}
