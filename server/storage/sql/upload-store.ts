/** Uploads of files in parts (`/v1/uploads`), without the content of the parts, in a SQL database. */
import { integerOrNull, type SqlDatabase, type SqlInteger } from "./database.ts";

type UploadStatus = "pending" | "completed" | "cancelled";

export interface StoredUpload {
  readonly id: string;
  readonly owner: string;
  /** The file that the upload becomes, whose space is reserved. */
  readonly fileId: string;
  /** The size of the file. */
  readonly bytes: number;
  readonly filename: string;
  readonly purpose: string;
  /** When the file expires, in seconds after its creation. Null: the default of its purpose. */
  readonly fileSeconds: number | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly status: UploadStatus;
}

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
}

/** Every method rejects once the store is closed. */
export const createUploadStore = (db: SqlDatabase) => ({
  async create(upload: StoredUpload): Promise<void> {
    const { id, owner, fileId, bytes, filename, purpose, fileSeconds } = upload;
    await db.query(
      `INSERT INTO vexel.uploads
         (id, owner, file_id, bytes, filename, purpose, file_seconds, created_at, expires_at, status)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [
        ...[id, owner, fileId, bytes, filename, purpose, fileSeconds],
        ...[upload.createdAt, upload.expiresAt, upload.status],
      ],
    );
  },

  /** Undefined: it does not exist, or belongs to another owner. */
  async find(owner: string, id: string): Promise<StoredUpload | undefined> {
    const { rows } = await db.query<UploadRow>(
      "SELECT * FROM vexel.uploads WHERE id = $1 AND owner = $2",
      [id, owner],
    );
    return rows[0] && uploadOf(rows[0]);
  },

  /** False: the upload is not pending any more, or its parts would have more than `maxBytes` or `maxParts`. */
  addPart: (
    uploadId: string,
    { id, bytes }: StoredPart,
    { maxBytes, maxParts }: { readonly maxBytes: number; readonly maxParts: number },
  ): Promise<boolean> =>
    db.transaction(async (queries) => {
      // Locks the row in PostgreSQL: concurrent parts are counted one after the other.
      const { count } = await queries.query(
        "UPDATE vexel.uploads SET status = 'pending' WHERE id = $1 AND status = 'pending'",
        [uploadId],
      );
      if (count === 0) return false;
      const { rows } = await queries.query<{ count: SqlInteger; bytes: SqlInteger | null }>(
        "SELECT count(*) AS count, sum(bytes) AS bytes FROM vexel.upload_parts WHERE upload_id = $1",
        [uploadId],
      );
      const counted = rows[0];
      if (Number(counted?.count) >= maxParts) return false;
      if (Number(counted?.bytes ?? 0) + bytes > maxBytes) return false;
      await queries.query(
        "INSERT INTO vexel.upload_parts (upload_id, id, bytes) VALUES ($1, $2, $3)",
        [uploadId, id, bytes],
      );
      return true;
    }),

  async parts(uploadId: string): Promise<readonly StoredPart[]> {
    const { rows } = await db.query<{ id: string; bytes: SqlInteger }>(
      "SELECT id, bytes FROM vexel.upload_parts WHERE upload_id = $1 ORDER BY id",
      [uploadId],
    );
    return rows.map(({ id, bytes }) => ({ id, bytes: Number(bytes) }));
  },

  /** Ends a pending upload. False: it is not pending any more. */
  async end(id: string, status: Exclude<UploadStatus, "pending">): Promise<boolean> {
    const { count } = await db.query(
      "UPDATE vexel.uploads SET status = $2 WHERE id = $1 AND status = 'pending'",
      [id, status],
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
});
