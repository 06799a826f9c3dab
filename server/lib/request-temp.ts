/** What one call puts aside because it is too large to hold: cleared away when the call is over. */

import { releaseAll } from "./release-all.ts";
import { MemoryBudget, SpillBuffer } from "./spill-buffer.ts";
import type { TempAccount } from "./temp-storage.ts";
import { UnlinkedTempFile } from "./unlinked-temp-file.ts";

/** Where another process of this machine finds a stretch of a file. */
export interface FileRange {
  readonly path: string;
  readonly from: number;
  readonly length: number;
}

/** A stretch of a file of one call. */
export interface SpilledBytes {
  /** Bytes as they lie there. */
  readonly length: number;
  /** How the content lies there: as it is, or as the base64 in which it came. */
  readonly encoding: "raw" | "base64";
  /** The first bytes as they lie there, for a look at what it is. */
  readonly start: Uint8Array;
  /** Where another process of this machine can read all of it, decoded or not. Absent: nowhere. */
  readonly path?: string;
  /** The same, where the file holds more than this. */
  readonly range?: FileRange | undefined;
  /** Keeps the file open while another process uses `path` or `place`, until the returned function is called. */
  keepOpen?(): (() => void) | undefined;
  /** As they lie there. Each piece lives only until the next is asked for. */
  stream(): AsyncIterable<Uint8Array>;
  /** The same, where they lie in memory. */
  chunksInMemory?(): readonly Uint8Array[] | undefined;
  /** All of them, as they lie there. */
  bytes(): Promise<Uint8Array>;
  /** The last so many of them, for a look whether it is all there. */
  tail(bytes: number): Promise<Uint8Array>;
}

/** What most image responses take on disk at most. */
const responseBytes = 8 * 1024 * 1024;

export interface RequestTemp {
  /** Throws GatewayError where there is no room for the response. Asked before an image is paid for. */
  ensureRoom(): void;
  /** A new file of this call. */
  file(): Promise<UnlinkedTempFile>;
  /** Bytes of this call, wherever there is room for them. */
  buffer(): SpillBuffer;
  /** Of everything that was put aside, nothing can be read any more. */
  clear(): Promise<void>;
}

/**
 * Costs nothing until something is put aside. `allowance`: what all calls together may hold in memory. `account`: what
 * the files are charged to.
 */
export function createRequestTemp(
  folder: string,
  allowance: MemoryBudget = nothing,
  account?: TempAccount,
): RequestTemp {
  const files: UnlinkedTempFile[] = [];
  const held: SpillBuffer[] = [];
  let cleared = false;
  const file = async (): Promise<UnlinkedTempFile> => {
    const opened = await UnlinkedTempFile.create(folder, account);
    // A call that was given up may still be reading an answer.
    if (cleared) {
      await opened.close();
      throw new Error("The call is over: there is nothing to put aside for.");
    }
    files.push(opened);
    return opened;
  };
  return {
    ensureRoom: () => account?.ensureRoom(responseBytes),
    file,
    buffer: () => {
      const bytes = new SpillBuffer(cleared ? nothing : allowance, file);
      held.push(bytes);
      return bytes;
    },
    clear: async () => {
      cleared = true;
      await releaseAll([
        ...held.splice(0).map((bytes) => () => bytes.clear()),
        ...files.splice(0).map((file) => () => file.close()),
      ]);
    },
  };
}

const nothing = new MemoryBudget(0);

const noRoom = async (): Promise<never> => {
  throw new Error("This call has no room on disk.");
};

/** For calls that put nothing aside. */
export const noRequestTemp: RequestTemp = {
  ensureRoom: () => undefined,
  file: noRoom,
  buffer: () => new SpillBuffer(nothing, noRoom),
  clear: async () => undefined,
};
