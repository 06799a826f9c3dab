/** Uploads of files in parts (`/v1/uploads`), without the content of the parts, in a SQL database. */
import { integerOrNull, type SqlDatabase, type SqlInteger } from "./database.ts";
import { completeFile, type FileParts, reserveFile, type StoredFile } from "./file-index.ts";
import { changeSpace, type FileQuotas, lockSpace, spaceFor, takeSpace } from "./file-space.ts";

type UploadStatus = "pending" | "completed" | "cancelled";

export interface StoredUpload {
  readonly id: string;
  readonly owner: string;
  /** The file that the upload becomes. It has the space of the parts that have arrived. */
  readonly fileId: string;
  /** The size of the file. */
  readonly bytes: number;
  readonly filename: string;
  readonly purpose: string;
  /** When the file expires, in seconds after its creation. The default is the default of its purpose. */
  readonly fileSeconds: number | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly status: UploadStatus;
  /** The number and the bytes of its parts. */
  readonly parts: number;
  readonly partBytes: number;
}

/** An upload without parts. */
export type NewUpload = Omit<StoredUpload, "parts" | "partBytes" | "status">;

export interface StoredPart {
  readonly id: string;
  readonly bytes: number;
}

interface UploadRow {
  readonly id: string;
  readonly owner: string;
  readonly file_id: string;
  readonly bytes: SqlInteger;
  readonly filename: string;
  readonly purpose: string;
  readonly file_seconds: SqlInteger | null;
  readonly created_at: SqlInteger;
  readonly expires_at: SqlInteger;
  readonly status: UploadStatus;
  readonly parts: SqlInteger;
  readonly part_bytes: SqlInteger;
}

interface PartLimits {
  readonly maxBytes: number;
  readonly maxParts: number;
  readonly quotas: FileQuotas;
}

/** Every method rejects once the store is closed. */
export const createUploadStore = (db: SqlDatabase) => ({
  /** Also inserts its file, without space for parts. Otherwise returns which quota is used up. */
  create: (upload: NewUpload, quotas: FileQuotas): Promise<"created" | keyof FileQuotas> =>
    db.transaction(async (queries) => {
      const { id, owner, fileId, bytes, filename, purpose, fileSeconds, createdAt } = upload;
      const file = { id: fileId, owner, bytes: 0, createdAt };
      const outcome = await reserveFile(queries, file, quotas);
      if (outcome !== "reserved") return outcome;
      await queries.query(
        `INSERT INTO vexel.uploads (id, owner, file_id, bytes, filename, purpose, file_seconds,
           created_at, expires_at, status, parts, part_bytes)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'pending', 0, 0)`,
        [id, owner, fileId, bytes, filename, purpose, fileSeconds, createdAt, upload.expiresAt],
      );
      return "created";
    }),

  /** Undefined if it does not exist, or belongs to another owner. */
  async find(owner: string, id: string): Promise<StoredUpload | undefined> {
    const { rows } = await db.query<UploadRow>(
      "SELECT * FROM vexel.uploads WHERE id = $1 AND owner = $2",
      [id, owner],
    );
    return rows[0] && uploadOf(rows[0]);
  },

  /**
   * Adds the part, and its space to that of the file. `refused`: the upload is not pending any more, or its parts would
   * have more than `maxBytes` or `maxParts`. Otherwise returns which quota it would exceed.
   */
  addPart: (
    { id: uploadId, owner, fileId }: Pick<StoredUpload, "id" | "owner" | "fileId">,
    { id, bytes }: StoredPart,
    { maxBytes, maxParts, quotas }: PartLimits,
  ): Promise<"added" | "refused" | keyof FileQuotas> =>
    db.transaction(async (queries) => {
      const space = spaceFor(bytes);
      const exceeded = await takeSpace(queries, owner, space, quotas);
      if (exceeded) return exceeded;
      const { count } = await queries.query(
        `UPDATE vexel.uploads SET parts = parts + 1, part_bytes = part_bytes + $2
         WHERE id = $1 AND status = 'pending' AND parts < $3 AND part_bytes <= $4`,
        [uploadId, bytes, maxParts, maxBytes - bytes],
      );
      if (count === 0) {
        await changeSpace(queries, owner, -space);
        return "refused";
      }
      await queries.query("UPDATE vexel.files SET space = space + $2 WHERE id = $1", [
        fileId,
        space,
      ]);
      await queries.query(
        "INSERT INTO vexel.upload_parts (upload_id, id, bytes) VALUES ($1, $2, $3)",
        [uploadId, id, bytes],
      );
      return "added";
    }),

  async parts(uploadId: string): Promise<readonly StoredPart[]> {
    const { rows } = await db.query<{ id: string; bytes: SqlInteger }>(
      "SELECT id, bytes FROM vexel.upload_parts WHERE upload_id = $1 ORDER BY id",
      [uploadId],
    );
    return rows.map(({ id, bytes }) => ({ id, bytes: Number(bytes) }));
  },

  /**
   * Completes a pending upload and its file, which has these parts and their space. False: it is not pending any more.
   */
  complete: (
    { id, owner }: Pick<StoredUpload, "id" | "owner">,
    file: StoredFile,
    content: FileParts,
  ): Promise<boolean> =>
    db.transaction(async (queries) => {
      await lockSpace(queries);
      const { count } = await queries.query(
        "UPDATE vexel.uploads SET status = 'completed' WHERE id = $1 AND status = 'pending'",
        [id],
      );
      if (count === 0 || !(await completeFile(queries, file, content))) return false;
      const space = content.parts.reduce((sum, { bytes }) => sum + spaceFor(bytes), 0);
      const { rows } = await queries.query<{ space: SqlInteger }>(
        "SELECT space FROM vexel.files WHERE id = $1",
        [file.id],
      );
      await changeSpace(queries, owner, space - Number(rows[0]?.space));
      await queries.query("UPDATE vexel.files SET space = $2 WHERE id = $1", [file.id, space]);
      return true;
    }),

  /** Cancels a pending upload. False: it is not pending any more. */
  async cancel(id: string): Promise<boolean> {
    const { count } = await db.query(
      "UPDATE vexel.uploads SET status = 'cancelled' WHERE id = $1 AND status = 'pending'",
      [id],
    );
    return count > 0;
  },

  /** Uploads whose expiry is over, whatever their status. `now`: Unix milliseconds. */
  async expired(now: number, limit: number): Promise<readonly StoredUpload[]> {
    const { rows } = await db.query<UploadRow>(
      "SELECT * FROM vexel.uploads WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2",
      [now, limit],
    );
    return rows.map(uploadOf);
  },

  /** Deletes the upload and its parts. Their content must be deleted already. */
  remove: (id: string): Promise<void> =>
    db.transaction(async (queries) => {
      await queries.query("DELETE FROM vexel.upload_parts WHERE upload_id = $1", [id]);
      await queries.query("DELETE FROM vexel.uploads WHERE id = $1", [id]);
    }),
});

export type UploadStore = ReturnType<typeof createUploadStore>;

const uploadOf = (row: UploadRow): StoredUpload => ({
  id: row.id,
  owner: row.owner,
  fileId: row.file_id,
  bytes: Number(row.bytes),
  filename: row.filename,
  purpose: row.purpose,
  fileSeconds: integerOrNull(row.file_seconds),
  createdAt: Number(row.created_at),
  expiresAt: Number(row.expires_at),
  status: row.status,
  parts: Number(row.parts),
  partBytes: Number(row.part_bytes),
});
