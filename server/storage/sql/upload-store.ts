/** Uploads of files in parts, without the content of the parts, in a SQL database. */
import type { StoredUpload, UploadStatus, UploadStore } from "../ports/upload-store.ts";
import { integerOrNull, type SqlDatabase, type SqlInteger } from "./database.ts";

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

export const createUploadStore = (db: SqlDatabase): UploadStore => ({
  async create(upload) {
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

  async find(owner, id) {
    const { rows } = await db.query<UploadRow>(
      "SELECT * FROM vexel.uploads WHERE id = $1 AND owner = $2",
      [id, owner],
    );
    return rows[0] && uploadOf(rows[0]);
  },

  addPart: (uploadId, { id, bytes }, { maxBytes, maxParts }) =>
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

  async parts(uploadId) {
    const { rows } = await db.query<{ id: string; bytes: SqlInteger }>(
      "SELECT id, bytes FROM vexel.upload_parts WHERE upload_id = $1 ORDER BY id",
      [uploadId],
    );
    return rows.map(({ id, bytes }) => ({ id, bytes: Number(bytes) }));
  },

  async end(id, status) {
    const { count } = await db.query(
      "UPDATE vexel.uploads SET status = $2 WHERE id = $1 AND status = 'pending'",
      [id, status],
    );
    return count > 0;
  },

  async expired(now, limit) {
    const { rows } = await db.query<UploadRow>(
      "SELECT * FROM vexel.uploads WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2",
      [now, limit],
    );
    return rows.map(uploadOf);
  },

  remove: (id) =>
    db.transaction(async (queries) => {
      await queries.query("DELETE FROM vexel.upload_parts WHERE upload_id = $1", [id]);
      await queries.query("DELETE FROM vexel.uploads WHERE id = $1", [id]);
    }),
});

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
