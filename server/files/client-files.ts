/**
 * The files of clients: their rows and their contents together. A file belongs to its owner, and no other owner sees
 * it. The row of a file is written before its content and deleted after it; a sweep deletes both when it has expired.
 */
import { errorMessage } from "../lib/error-code.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Log } from "../lib/log.ts";
import { newId } from "../lib/new-id.ts";
import type { FileChunks, FileStore, FoundFile } from "../storage/ports/file-store.ts";
import type {
  FileIndex,
  FileListQuery,
  ReservedFile,
  StoredFile,
} from "../storage/sql/file-index.ts";
import type { DiskUse } from "../temp-storage/disk-reserve.ts";
import { joinedParts } from "./joined-parts.ts";
import { quotaExceeded, type ReceivingFiles } from "./receiving-files.ts";

interface ClientFilesOptions {
  readonly index: FileIndex;
  readonly store: FileStore;
  readonly receiving: ReceivingFiles;
  readonly log: Pick<Log, "warn">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export type { StoredFile };

/** What is known of a file when its content is complete. */
type FileFacts = Pick<StoredFile, "purpose" | "filename" | "expiresAt">;

/** A file whose bytes have arrived. It must be discarded, also after it was stored. */
export interface ReceivedFile {
  readonly bytes: number;
  /** `factsAt`: the name, purpose and expiry of the file that is created at that time. Rejects with GatewayError. */
  store(factsAt: (createdAt: number) => FileFacts): Promise<StoredFile>;
  /** Never rejects. */
  discard(): Promise<void>;
}

/** The result of paid requests that is being stored. Exactly one of `complete` and `discard` ends it. */
interface NewResult {
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Stores the content. Returns its size. Rejects with GatewayError. */
  write(chunks: FileChunks, use: DiskUse): Promise<number>;
  complete(facts: FileFacts): Promise<StoredFile>;
  /** Never rejects. */
  discard(): Promise<void>;
}

export type ClientFiles = ReturnType<typeof createClientFiles>;

/** A file that is incomplete after this long belongs to a process that has ended. */
const abandonedMs = 24 * 3_600_000;
const deletedAtOnce = 100;

export function createClientFiles({ index, store, receiving, log, now }: ClientFilesOptions) {
  const remove = async (id: string): Promise<void> => {
    const parts = await index.parts(id);
    await (parts ? store.removeFolder(parts.folder) : store.remove(id));
    await index.remove(id);
  };
  const removeLater = async (id: string): Promise<void> => {
    try {
      await remove(id);
    } catch (error) {
      // No client sees it, and the next sweep deletes it.
      log.warn("file-not-deleted", { file: id, reason: errorMessage(error) });
    }
  };

  const complete = async (file: StoredFile): Promise<StoredFile> => {
    if (await index.complete(file)) return file;
    throw new GatewayError("storage_unavailable", "The file took too long to store. Retry.");
  };

  /** Receives the content. Nothing is stored yet. Rejects with GatewayError or the error of the source. */
  const receive = async (owner: string, chunks: FileChunks): Promise<ReceivedFile> => {
    const draft = await receiving.receive(owner, chunks);
    return {
      bytes: draft.size,
      store: async (factsAt) => {
        const createdAt = now();
        const file = { id: newId("file-", createdAt), owner, bytes: draft.size, createdAt };
        const { quotas } = receiving;
        const outcome = await index.reserve(file, quotas);
        if (outcome !== "reserved") throw quotaExceeded(outcome, quotas);
        draft.settle();
        try {
          await draft.store(file.id);
          return await complete({ ...file, ...factsAt(createdAt) });
        } catch (error) {
          await removeLater(file.id);
          throw error;
        }
      },
      discard: () => draft.discard(),
    };
  };

  /**
   * The result of paid requests: it is stored whatever the quotas say. What an earlier attempt has left is replaced.
   * Undefined if an earlier attempt has stored it.
   */
  const beginResult = async (
    id: string,
    owner: string,
    bytes: number,
  ): Promise<NewResult | undefined> => {
    const createdAt = now();
    if (await index.find(owner, id, createdAt)) return undefined;
    await remove(id);
    const reserved: ReservedFile = { id, owner, bytes, createdAt };
    await index.reserve(reserved);
    let size = 0;
    return {
      createdAt,
      write: async (chunks, use) => {
        size = await store.write(id, chunks, use);
        return size;
      },
      complete: (facts) => complete({ ...facts, id, owner, bytes: size, createdAt }),
      discard: () => removeLater(id),
    };
  };

  const find = async (owner: string, id: string): Promise<StoredFile> => {
    const file = await index.find(owner, id, now());
    if (!file) throw fileNotFound(id);
    return file;
  };

  /** Undefined if it was deleted. Rejects if the storage is not available. */
  const findContent = async ({ id }: Pick<StoredFile, "id">): Promise<FoundFile | undefined> => {
    const parts = await index.parts(id);
    return parts ? joinedParts(store, parts) : store.find(id);
  };

  return {
    ensureSpace: receiving.ensureSpace,
    receive,
    beginResult,
    find,
    /** By creation. */
    list: (query: Omit<FileListQuery, "now">) => index.list({ ...query, now: now() }),
    /** Throws GatewayError if the file does not exist. */
    remove: async (owner: string, id: string): Promise<void> => {
      if (!(await index.hide(owner, id, now()))) throw fileNotFound(id);
      await removeLater(id);
    },
    findContent,
    content: async ({ id }: Pick<StoredFile, "id">): Promise<FoundFile> => {
      const found = await findContent({ id });
      if (found) return found;
      throw new GatewayError(
        "storage_unavailable",
        `The content of the file ${id} is missing in the storage of the gateway.`,
      );
    },
    /** Deletes expired files, deleted ones whose content could not be deleted, and incomplete ones. */
    sweep: async (): Promise<void> => {
      await store.sweep();
      for (;;) {
        const ids = await index.deletable(now(), now() - abandonedMs, deletedAtOnce);
        for (const id of ids) await remove(id);
        if (ids.length < deletedAtOnce) return;
      }
    },
  };
}

const fileNotFound = (id: string): GatewayError =>
  new GatewayError("object_not_found", `No such File object: ${id.slice(0, 100)}`, { param: "id" });
