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
  FileQuotas,
  ReservedFile,
  StoredFile,
} from "../storage/sql/file-index.ts";
import type { DiskUse } from "../temp-storage/disk-reserve.ts";

interface ClientFilesOptions {
  readonly index: FileIndex;
  readonly store: FileStore;
  readonly quotas: FileQuotas;
  readonly log: Pick<Log, "warn">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export type { StoredFile };

/** What is known of a file when its content is complete. */
type FileFacts = Pick<StoredFile, "purpose" | "filename" | "expiresAt">;

/** A file that is being stored. Exactly one of `complete` and `discard` ends it. */
export interface NewFile {
  readonly id: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Stores the content. Returns its size. Rejects with GatewayError. */
  write(chunks: FileChunks, use?: DiskUse): Promise<number>;
  complete(facts: FileFacts): Promise<StoredFile>;
  /** Never rejects. */
  discard(): Promise<void>;
}

export type ClientFiles = ReturnType<typeof createClientFiles>;

/** A file that is incomplete after this long belongs to a process that has ended. */
const abandonedMs = 24 * 3_600_000;
const deletedAtOnce = 100;

export function createClientFiles({ index, store, quotas, log, now }: ClientFilesOptions) {
  const remove = async (id: string): Promise<void> => {
    await store.remove(id);
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

  /** A file whose space is reserved. */
  const resume = ({ id, owner, createdAt }: Omit<ReservedFile, "bytes">): NewFile => {
    let size = 0;
    return {
      id,
      createdAt,
      write: async (chunks, use) => {
        size = await store.write(id, chunks, use);
        return size;
      },
      complete: async (facts) => {
        const file = { ...facts, id, owner, bytes: size, createdAt };
        if (await index.complete(file)) return file;
        throw new GatewayError("storage_unavailable", "The file took too long to store. Retry.");
      },
      discard: () => removeLater(id),
    };
  };

  /** `bytes`: the expected size. Throws GatewayError. */
  const begin = async (owner: string, bytes: number): Promise<NewFile> => {
    const createdAt = now();
    const id = newId("file-", createdAt);
    const outcome = await index.reserve({ id, owner, bytes, createdAt }, quotas);
    if (outcome !== "reserved") throw quotaExceeded(outcome, quotas[outcome]);
    return resume({ id, owner, createdAt });
  };

  /**
   * The result of paid requests: it is stored whatever the quotas say. What an earlier attempt has left is replaced.
   * Undefined: an earlier attempt has stored it.
   */
  const beginResult = async (
    id: string,
    owner: string,
    bytes: number,
  ): Promise<NewFile | undefined> => {
    const createdAt = now();
    if (await index.find(owner, id, createdAt)) return undefined;
    await remove(id);
    await index.reserve({ id, owner, bytes, createdAt });
    return resume({ id, owner, createdAt });
  };

  const find = async (owner: string, id: string): Promise<StoredFile> => {
    const file = await index.find(owner, id, now());
    if (!file) throw fileNotFound(id);
    return file;
  };

  return {
    begin,
    beginResult,
    resume,
    find,
    /** By creation. */
    list: (query: Omit<FileListQuery, "now">) => index.list({ ...query, now: now() }),
    /** Throws GatewayError if the file does not exist. */
    remove: async (owner: string, id: string): Promise<void> => {
      if (!(await index.hide(owner, id, now()))) throw fileNotFound(id);
      await removeLater(id);
    },
    /** Undefined: it was deleted. Rejects if the storage is not available. */
    findContent: ({ id }: Pick<StoredFile, "id">) => store.find(id),
    content: async ({ id }: Pick<StoredFile, "id">): Promise<FoundFile> => {
      const found = await store.find(id);
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

function quotaExceeded(scope: keyof FileQuotas, bytes: number): GatewayError {
  const whose = scope === "owner" ? "of this project" : "of this gateway";
  return new GatewayError(
    "file_quota_exceeded",
    `The files ${whose} may have ${bytes} bytes together. Delete files, or ask the gateway's operator to raise VEXEL_FILES_MAX_BYTES.`,
  );
}
