/**
 * Uploads of large files in parts. The space of the file is reserved when the upload is created. The parts may arrive
 * in any order and at any replica; completing the upload joins them into the file.
 */
import { errorMessage } from "../lib/error-code.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Log } from "../lib/log.ts";
import { newId } from "../lib/new-id.ts";
import type { FileChunks, FileStore } from "../storage/ports/file-store.ts";
import type { StoredPart, StoredUpload, UploadStore } from "../storage/sql/upload-store.ts";
import type { ClientFiles, StoredFile } from "./client-files.ts";

interface UploadsOptions {
  readonly store: UploadStore;
  readonly contents: FileStore;
  readonly files: Pick<ClientFiles, "begin" | "resume" | "find">;
  /** When a file expires, in Unix milliseconds. Null: never. */
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

export type Uploads = ReturnType<typeof createUploads>;
export type { StoredUpload };

/** An upload may take an hour, as at OpenAI. */
const uploadMs = 3_600_000;
const maxParts = 10_000;
/** Parts that are sent again after a lost response count too. */
const sparePartsFactor = 2;
const sweptAtOnce = 100;

export function createUploads({ store, contents, files, expiryOf, log, now }: UploadsOptions) {
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
  /** Deletes what the upload holds. If it fails, the sweep after the expiry repeats it. */
  const clear = async ({ id }: StoredUpload): Promise<void> => {
    try {
      await contents.removeFolder(folderOf(id));
    } catch (error) {
      log.warn("file-not-deleted", { file: id, reason: errorMessage(error) });
    }
  };

  const join = async (
    upload: StoredUpload,
    parts: readonly StoredPart[],
    md5: string | undefined,
  ): Promise<StoredFile> => {
    const file = files.resume({ id: upload.fileId, owner: upload.owner, createdAt: now() });
    const hash = new Bun.CryptoHasher("md5");
    const chunks = async function* (): AsyncGenerator<Uint8Array> {
      for (const { id } of parts) {
        const found = await contents.find(nameOf(upload.id, id));
        if (!found) throw partMissing(id);
        for await (const chunk of found.read()) {
          hash.update(chunk);
          yield chunk;
        }
      }
      const actual = hash.digest("hex");
      // Thrown from the source, so that the file is not stored.
      if (md5 !== undefined && md5.toLowerCase() !== actual) throw wrongChecksum(actual);
    };
    await file.write(chunks(), "upload");
    // Another request may have completed or cancelled it meanwhile.
    if (!(await store.end(upload.id, "completed"))) throw notPending("completed");
    const { filename, purpose, fileSeconds } = upload;
    const expiresAt = expiryOf(file.createdAt, purpose, fileSeconds);
    return file.complete({ filename, purpose, expiresAt });
  };

  return {
    create: async (owner: string, fields: NewUpload): Promise<StoredUpload> => {
      const { id: fileId } = await files.begin(owner, fields.bytes);
      const at = now();
      const upload: StoredUpload = {
        ...fields,
        id: newId("upload_", at),
        owner,
        fileId,
        createdAt: at,
        expiresAt: at + uploadMs,
        status: "pending",
      };
      await store.create(upload);
      return upload;
    },
    addPart: async (owner: string, id: string, chunks: FileChunks): Promise<AddedPart> => {
      const upload = await findPending(owner, id);
      const createdAt = now();
      const partId = newId("part_", createdAt);
      const bytes = await contents.write(nameOf(id, partId), chunks, "upload");
      const maxBytes = upload.bytes * sparePartsFactor;
      if (await store.addPart(id, { id: partId, bytes }, { maxBytes, maxParts })) {
        return { id: partId, createdAt };
      }
      await contents.remove(nameOf(id, partId));
      throw tooManyParts(upload.bytes);
    },
    /** Joins the parts in the order of `partIds`. Rejects with GatewayError. */
    complete: async (
      owner: string,
      id: string,
      partIds: readonly string[],
      md5: string | undefined,
    ): Promise<{ upload: StoredUpload; file: StoredFile }> => {
      const known = await find(owner, id);
      // The response to the first request may have been lost.
      if (known.status === "completed")
        return { upload: known, file: await files.find(owner, known.fileId) };
      const upload = await findPending(owner, id);
      const parts = partsInOrder(await store.parts(id), partIds);
      const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
      if (bytes !== upload.bytes) throw wrongSize(bytes, upload.bytes);
      const file = await join(upload, parts, md5);
      await clear(upload);
      return { upload: { ...upload, status: "completed" }, file };
    },
    cancel: async (owner: string, id: string): Promise<StoredUpload> => {
      const upload = await find(owner, id);
      if (upload.status === "cancelled") return upload;
      await findPending(owner, id);
      if (!(await store.end(id, "cancelled"))) throw notPending("completed");
      await files.resume({ id: upload.fileId, owner, createdAt: upload.createdAt }).discard();
      await clear(upload);
      return { ...upload, status: "cancelled" };
    },
    /** Deletes uploads whose hour is over. */
    sweep: async (): Promise<void> => {
      for (;;) {
        const expired = await store.expired(now(), sweptAtOnce);
        for (const { id, fileId, owner, createdAt, status } of expired) {
          await contents.removeFolder(folderOf(id));
          if (status === "pending") await files.resume({ id: fileId, owner, createdAt }).discard();
          await store.remove(id);
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

const wrongSize = (actual: number, expected: number): GatewayError =>
  new GatewayError(
    "invalid_value",
    `Invalid 'part_ids': the parts have ${actual} bytes, and the upload was created for ${expected} bytes.`,
    { param: "part_ids" },
  );

const wrongChecksum = (actual: string): GatewayError =>
  new GatewayError("invalid_value", `Invalid 'md5': the checksum of the parts is ${actual}.`, {
    param: "md5",
  });
