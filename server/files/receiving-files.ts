/** The quotas of files, and the bytes of files that clients are sending, which no row of the database counts yet. */
import type { ByteTurns } from "../lib/byte-turns.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { KeyShares } from "../lib/key-shares.ts";
import type { Draft, FileChunks, FileStore } from "../storage/ports/file-store.ts";
import type { FileIndex } from "../storage/sql/file-index.ts";
import type { FileQuotas } from "../storage/sql/file-space.ts";

interface ReceivingFilesOptions {
  readonly index: Pick<FileIndex, "space">;
  readonly store: Pick<FileStore, "draft">;
  readonly quotas: FileQuotas;
  /** For bytes that arrive. */
  readonly turns: ByteTurns;
}

/** The bytes of a file that have arrived. */
interface ReceivedDraft extends Draft {
  /** The database counts the bytes now. */
  settle(): void;
}

/** Bytes that have arrived between two checks of the quotas. */
const checkedBytes = 4 * 1024 * 1024;

export type ReceivingFiles = ReturnType<typeof createReceivingFiles>;

export function createReceivingFiles({ index, store, quotas, turns }: ReceivingFilesOptions) {
  const arriving = new KeyShares(Number.POSITIVE_INFINITY);

  /** Reserves nothing: only bytes that have arrived take space. Throws GatewayError. */
  const ensureSpace = async (owner: string, bytes: number): Promise<void> => {
    await turns.next(owner, 0);
    const stored = await index.space(owner);
    const needed = { owner: arriving.heldBy(owner) + bytes, all: arriving.held + bytes };
    for (const scope of ["owner", "all"] as const) {
      if (stored[scope] + needed[scope] > quotas[scope]) throw quotaExceeded(scope, quotas);
    }
  };

  return {
    quotas,
    ensureSpace,
    /**
     * Receives the bytes of a file into a draft, and counts them until it is settled or discarded. Rejects with
     * GatewayError or the error of the source.
     */
    receive: async (owner: string, chunks: FileChunks): Promise<ReceivedDraft> => {
      let bytes = 0;
      let checked = 0;
      const counted = async function* () {
        for await (const chunk of chunks) {
          arriving.take(owner, chunk.length);
          bytes += chunk.length;
          if (bytes - checked >= checkedBytes) {
            await ensureSpace(owner, 0);
            checked = bytes;
          }
          await turns.next(owner, chunk.length);
          yield chunk;
        }
      };
      const settle = (): void => {
        arriving.release(owner, bytes);
        bytes = 0;
      };
      try {
        await turns.next(owner, 0);
        const draft = await store.draft(counted(), "upload");
        return {
          ...draft,
          settle,
          discard: async () => {
            await draft.discard();
            settle();
          },
        };
      } catch (error) {
        settle();
        throw error;
      }
    },
  };
}

export function quotaExceeded(scope: keyof FileQuotas, quotas: FileQuotas): GatewayError {
  const whose = scope === "owner" ? "of this project" : "of this gateway";
  return new GatewayError(
    "file_quota_exceeded",
    `The files ${whose} may have ${quotas[scope]} bytes together. Delete files, or ask the gateway's operator to raise VEXEL_FILES_MAX_BYTES.`,
  );
}
