/** Request temp storage: spill buffers and temp files of one request, released when the request ends. */

import { MemoryBudget, SpillBuffer } from "./spill-buffer.ts";
import { releaseAll } from "./tasks.ts";
import type { TempAccount, TempStorage } from "./temp-storage.ts";
import { UnlinkedTempFile } from "./unlinked-temp-file.ts";

/** A range of a file that another process on this machine can read. */
export interface FileRange {
  readonly path: string;
  readonly from: number;
  readonly length: number;
}

/** Spilled bytes: a range of a request's spill buffer or temp file. */
export interface SpilledBytes {
  /** Stored bytes, as encoded. */
  readonly length: number;
  /** How the content is stored: raw, or as the base64 that was received. */
  readonly encoding: "raw" | "base64";
  /** The first stored bytes, to detect the type. */
  readonly start: Uint8Array;
  /** A path under which another process on this machine can read all stored bytes. Absent: there is none. */
  readonly path?: string;
  /** Like `path`, for a file that also holds other bytes. */
  readonly range?: FileRange | undefined;
  /** Keeps the file open while another process uses `path` or `range`, until the returned function is called. */
  keepOpen?(): (() => void) | undefined;
  /** The stored bytes. Each chunk is valid only until the next one is requested. */
  stream(): AsyncIterable<Uint8Array>;
  /** The stored bytes, if they are in memory. */
  chunksInMemory?(): readonly Uint8Array[] | undefined;
  /** All stored bytes. */
  bytes(): Promise<Uint8Array>;
  /** The last stored bytes, to detect truncation. */
  tail(bytes: number): Promise<Uint8Array>;
}

/** Most image responses take at most this much disk space. */
const responseBytes = 8 * 1024 * 1024;

export interface RequestTemp {
  /** Throws GatewayError if there is no room for the response. Called before an upstream is paid for an image. */
  ensureRoom(): void;
  /** A new temp file of this request. */
  file(): Promise<UnlinkedTempFile>;
  /** A new spill buffer of this request: in memory while there is room, then on disk. */
  buffer(): SpillBuffer;
  /** Releases all buffers and files. Nothing in them can be read afterwards. */
  clear(): Promise<void>;
}

/**
 * Costs nothing until it is used. `budget`: the memory budget of all requests together. `account`: the temp storage
 * account that files are charged to.
 */
export function createRequestTemp(
  folder: string,
  budget: MemoryBudget = noMemory,
  account?: TempAccount,
): RequestTemp {
  const files: UnlinkedTempFile[] = [];
  const buffers: SpillBuffer[] = [];
  let isCleared = false;
  const file = async (): Promise<UnlinkedTempFile> => {
    const opened = await UnlinkedTempFile.create(folder, account);
    // An aborted request may still be reading an upstream response.
    if (isCleared) {
      await opened.close();
      throw new Error("The request has ended: its temp storage is closed.");
    }
    files.push(opened);
    return opened;
  };
  return {
    ensureRoom: () => account?.ensureRoom(responseBytes),
    file,
    buffer: () => {
      const buffer = new SpillBuffer(isCleared ? noMemory : budget, file);
      buffers.push(buffer);
      return buffer;
    },
    clear: async () => {
      isCleared = true;
      if (buffers.length === 0 && files.length === 0) return;
      await releaseAll([
        ...buffers.splice(0).map((buffer) => () => buffer.clear()),
        ...files.splice(0).map((file) => () => file.close()),
      ]);
    },
  };
}

/** Creates the temp storage of requests, for their responses. All requests share the memory. */
export const requestTemps =
  (folder: string, memory: MemoryBudget, storage: TempStorage) =>
  (keyId: string): RequestTemp =>
    createRequestTemp(folder, memory, storage.account(keyId, "response"));

const noMemory = new MemoryBudget(0);

const noRoom = async (): Promise<never> => {
  throw new Error("This request has no temp storage.");
};

/** For requests that need no temp storage. */
export const noRequestTemp: RequestTemp = {
  ensureRoom: () => undefined,
  file: noRoom,
  buffer: () => new SpillBuffer(noMemory, noRoom),
  clear: async () => undefined,
};
