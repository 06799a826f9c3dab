/**
 * Drafts: files that are written before they have a name. All operations run outside the event loop: a disk that is busy
 * holds back the client that sends the file, and no other.
 */
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { type BorrowedBytes, viewOf } from "../../lib/borrowed-bytes.ts";
import { errorMessage } from "../../lib/error-code.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { DiskReserve, DiskUse } from "../../temp-storage/disk-reserve.ts";
import type { FileChunks } from "../ports/file-store.ts";
import { removeIfExists } from "./expiring-files.ts";

interface DraftOptions {
  readonly folder: string;
  readonly disk: Pick<DiskReserve, "hasSpace" | "recordWrite">;
}

export interface WrittenDraft {
  readonly path: string;
  readonly size: number;
}

/** Rejects with GatewayError or the error of the source, and leaves no file. */
export async function writeDraft(
  { folder, disk }: DraftOptions,
  chunks: FileChunks,
  use: DiskUse,
): Promise<WrittenDraft> {
  const path = join(folder, Bun.randomUUIDv7());
  const file = await open(path, "wx", 0o600).catch((error) => {
    throw notStored(error);
  });
  let size = 0;
  try {
    for await (const chunk of chunks) {
      if (!disk.hasSpace(chunk.length, use)) throw diskFull();
      disk.recordWrite(chunk.length);
      await append(file, chunk);
      size += chunk.length;
    }
    await file.sync();
  } catch (error) {
    // If it cannot be deleted now, a sweep does it.
    await removeIfExists(path);
    throw error;
  } finally {
    await file.close();
  }
  return { path, size };
}

/** The chunk is lent until the write has ended. One call may write only a part of it. */
async function append(file: FileHandle, chunk: BorrowedBytes): Promise<void> {
  const bytes = viewOf(chunk);
  try {
    for (let done = 0; done < bytes.length; ) {
      done += (await file.write(bytes, done, bytes.length - done)).bytesWritten;
    }
  } catch (error) {
    throw notStored(error);
  }
}

export const notStored = (cause: unknown): GatewayError =>
  new GatewayError("storage_unavailable", "The file could not be stored. Retry later.", {
    cause,
    retryAfterMs: 5000,
    logDetail: errorMessage(cause),
  });

const diskFull = (): GatewayError =>
  new GatewayError(
    "storage_unavailable",
    "The gateway's disk is almost full, and the rest is kept for its ledger. Ask its operator to free space on the disk under VEXEL_DATA.",
    { retryAfterMs: 60_000 },
  );
