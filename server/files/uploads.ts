/**
 * Uploads of large files in parts. The parts may arrive in any order and at any replica, and take space as they arrive.
 * Completing the upload copies nothing: the parts, in their order, are the content of the file. An MD5 checksum is of
 * the whole file, and cannot be joined from checksums of its parts, whose order is unknown when they arrive. So the
 * parts are read once more, in turns, if the client sends a checksum; a wrong one ends the upload.
 */

import type { ByteTurns } from "../lib/byte-turns.ts";
import { errorMessage } from "../lib/error-code.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Log } from "../lib/log.ts";
import { newId } from "../lib/new-id.ts";
import type { FileChunks, FileStore } from "../storage/ports/file-store.ts";
import type { FileIndex, FileParts } from "../storage/sql/file-index.ts";
import type { StoredPart, StoredUpload, UploadStore } from "../storage/sql/upload-store.ts";
import type { ClientFiles, StoredFile } from "./client-files.ts";
import { joinedParts } from "./joined-parts.ts";
import { quotaExceeded, type ReceivingFiles } from "./receiving-files.ts";

interface UploadsOptions {
  readonly store: UploadStore;
  readonly contents: FileStore;
  readonly files: Pick<ClientFiles, "find">;
  readonly index: Pick<FileIndex, "remove">;
  readonly receiving: ReceivingFiles;
  /** For reading parts whose checksum is verified. */
  readonly turns: ByteTurns;
  /** When a file expires, in Unix milliseconds. Null if never. */
  readonly expiryOf: (createdAt: number, purpose: string, seconds: number | null) => number | null;
  readonly log: Pick<Log, "warn">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

type NewUpload = Pick<StoredUpload, "bytes" | "filename" | "purpose" | "fileSeconds">;

export interface AddedPart {
  readonly id: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

interface CompletedUpload {
  readonly upload: StoredUpload;
  readonly file: StoredFile;
}

export type Uploads = ReturnType<typeof createUploads>;
export type { StoredUpload };

/** An upload may take an hour, as at OpenAI. */
const uploadMs = 3_600_000;
const maxParts = 10_000;
/** Parts that are sent again after a lost response count too. */
const sparePartsFactor = 2;
const sweptAtOnce = 100;

export function createUploads(options: UploadsOptions) {
  const { store, contents, files, index, receiving, turns, expiryOf, log, now } = options;
  const { quotas } = receiving;
  /** The requests that complete an upload, by its id. */
  const completing = new Map<string, Promise<unknown>>();
  const folderOf = (id: string): string => `uploads/${id}`;
  const nameOf = (uploadId: string, partId: string): string => `${folderOf(uploadId)}/${partId}`;

  const find = async (owner: string, id: string): Promise<StoredUpload> => {
    const found = await store.find(owner, id);
    if (!found) throw notFound(id);
    return found;
  };
  const findPending = async (owner: string, id: string): Promise<StoredUpload> => {
    const upload = await find(owner, id);
    if (upload.status !== "pending") throw notPending(upload.status);
    if (upload.expiresAt <= now()) throw notPending("expired");
    return upload;
  };
  /** If it fails, a sweep repeats it. */
  const orLater = async (id: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      log.warn("file-not-deleted", { file: id, reason: errorMessage(error) });
    }
  };
  /** Deletes the parts, and then the row that has their space. */
  const clear = async ({ id, fileId }: StoredUpload): Promise<void> => {
    await contents.removeFolder(folderOf(id));
    await index.remove(fileId);
  };
  /** False: it is not pending any more. */
  const end = async (upload: StoredUpload): Promise<boolean> => {
    if (!(await store.cancel(upload.id))) return false;
    await orLater(upload.id, () => clear(upload));
    return true;
  };

  const md5Of = async (owner: string, content: FileParts): Promise<string> => {
    const hash = new Bun.CryptoHasher("md5");
    for await (const chunk of turns.read(owner, joinedParts(contents, content).read())) {
      hash.update(chunk);
    }
    return hash.digest("hex");
  };

  const complete = async (
    owner: string,
    id: string,
    partIds: readonly string[],
    md5: string | undefined,
  ): Promise<CompletedUpload> => {
    const known = await find(owner, id);
    // The response to the first request may have been lost.
    if (known.status === "completed")
      return { upload: known, file: await files.find(owner, known.fileId) };
    const upload = await findPending(owner, id);
    const stored = await store.parts(id);
    const content: FileParts = { folder: folderOf(id), parts: partsInOrder(stored, partIds) };
    const bytes = content.parts.reduce((sum, part) => sum + part.bytes, 0);
    if (bytes !== upload.bytes) throw wrongSize(bytes, upload.bytes);
    if (md5 !== undefined) {
      const actual = await md5Of(owner, content);
      if (md5.toLowerCase() !== actual) {
        await end(upload);
        throw wrongChecksum(actual);
      }
    }
    const createdAt = now();
    const { fileId, filename, purpose, fileSeconds } = upload;
    const expiresAt = expiryOf(createdAt, purpose, fileSeconds);
    const file = { id: fileId, owner, purpose, filename, bytes, createdAt, expiresAt };
    // It may have been cancelled meanwhile, or completed by another replica.
    if (!(await store.complete(upload, file, content))) {
      throw notPending((await find(owner, id)).status);
    }
    const used = new Set(partIds);
    await orLater(id, async () => {
      for (const part of stored) if (!used.has(part.id)) await contents.remove(nameOf(id, part.id));
    });
    return { upload: { ...upload, status: "completed" }, file };
  };

  return {
    create: async (owner: string, fields: NewUpload): Promise<StoredUpload> => {
      await receiving.ensureSpace(owner, fields.bytes);
      const at = now();
      const upload = {
        ...fields,
        id: newId("upload_", at),
        owner,
        fileId: newId("file-", at),
        createdAt: at,
        expiresAt: at + uploadMs,
      };
      const outcome = await store.create(upload, quotas);
      if (outcome !== "created") throw quotaExceeded(outcome, quotas);
      return { ...upload, status: "pending", parts: 0, partBytes: 0 };
    },
    addPart: async (owner: string, id: string, chunks: FileChunks): Promise<AddedPart> => {
      const upload = await findPending(owner, id);
      const maxBytes = upload.bytes * sparePartsFactor;
      if (upload.parts >= maxParts || upload.partBytes >= maxBytes)
        throw tooManyParts(upload.bytes);
      const draft = await receiving.receive(owner, chunks);
      try {
        if (draft.size === 0) throw emptyPart();
        const createdAt = now();
        const part = { id: newId("part_", createdAt), bytes: draft.size };
        await draft.store(nameOf(id, part.id));
        const outcome = await store.addPart(upload, part, { maxBytes, maxParts, quotas });
        if (outcome === "added") return { id: part.id, createdAt };
        await orLater(id, () => contents.remove(nameOf(id, part.id)));
        throw outcome === "refused" ? tooManyParts(upload.bytes) : quotaExceeded(outcome, quotas);
      } finally {
        await draft.discard();
      }
    },
    /**
     * The file has the parts in the order of `partIds`. Requests that complete the same upload follow each other, so
     * that one that is repeated does not read the parts at the same time. Rejects with GatewayError.
     */
    complete: async (
      owner: string,
      id: string,
      partIds: readonly string[],
      md5: string | undefined,
    ): Promise<CompletedUpload> => {
      await find(owner, id);
      for (let before = completing.get(id); before; before = completing.get(id)) {
        await before.catch(() => undefined);
      }
      const work = complete(owner, id, partIds, md5);
      completing.set(id, work);
      try {
        return await work;
      } finally {
        completing.delete(id);
      }
    },
    cancel: async (owner: string, id: string): Promise<StoredUpload> => {
      const upload = await find(owner, id);
      if (upload.status === "cancelled") return upload;
      await findPending(owner, id);
      if (!(await end(upload))) throw notPending("completed");
      return { ...upload, status: "cancelled" };
    },
    /** Deletes uploads whose hour is over. */
    sweep: async (): Promise<void> => {
      for (;;) {
        const expired = await store.expired(now(), sweptAtOnce);
        for (const upload of expired) {
          // The parts of a completed upload are the content of its file.
          if (upload.status !== "completed") await clear(upload);
          await store.remove(upload.id);
        }
        if (expired.length < sweptAtOnce) return;
      }
    },
  };
}

function partsInOrder(stored: readonly StoredPart[], ids: readonly string[]): StoredPart[] {
  const byId = new Map(stored.map((part) => [part.id, part]));
  if (new Set(ids).size !== ids.length) {
    throw new GatewayError("invalid_value", "Invalid 'part_ids': a part occurs twice.", {
      param: "part_ids",
    });
  }
  return ids.map((id) => {
    const part = byId.get(id);
    if (!part) throw partMissing(id);
    return part;
  });
}

const notFound = (id: string): GatewayError =>
  new GatewayError("object_not_found", `No such Upload object: ${id.slice(0, 100)}`, {
    param: "id",
  });

const notPending = (status: string): GatewayError =>
  new GatewayError("invalid_state", `The upload is ${status}. Create another upload.`);

const partMissing = (id: string): GatewayError =>
  new GatewayError(
    "invalid_value",
    `Invalid 'part_ids': the upload has no part ${id.slice(0, 100)}.`,
    {
      param: "part_ids",
    },
  );

const tooManyParts = (bytes: number): GatewayError =>
  new GatewayError(
    "request_too_large",
    `The parts of the upload have more bytes than its file: the upload was created for ${bytes} bytes, and may have ${maxParts} parts.`,
    { param: "data" },
  );

const emptyPart = (): GatewayError =>
  new GatewayError("invalid_value", "Invalid 'data': the part has no bytes.", { param: "data" });

const wrongSize = (actual: number, expected: number): GatewayError =>
  new GatewayError(
    "invalid_value",
    `Invalid 'part_ids': the parts have ${actual} bytes, and the upload was created for ${expected} bytes.`,
    { param: "part_ids" },
  );

const wrongChecksum = (actual: string): GatewayError =>
  new GatewayError(
    "invalid_value",
    `Invalid 'md5': the checksum of the parts is ${actual}. The upload is cancelled. Create another upload.`,
    { param: "md5" },
  );
