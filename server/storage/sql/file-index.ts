/**
 * The files of clients (`/v1/files`), without their content, in a SQL database. A row is written before its content, and
 * deleted after it, so that every stored content has a row, and a sweep of the rows finds all of it. Ids begin with their
 * time, so they are in order.
 */
import {
  integerOrNull,
  Parameters,
  type Queries,
  type SqlDatabase,
  type SqlInteger,
} from "./database.ts";

export interface StoredFile {
  readonly id: string;
  /** The project or the API key to which it belongs (`auth/owner.ts`). */
  readonly owner: string;
  readonly purpose: string;
  readonly filename: string;
  readonly bytes: number;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Unix milliseconds. Null: it does not expire. */
  readonly expiresAt: number | null;
}

/** A file whose content is not complete. Its bytes count toward the quotas, and no client sees it. */
export type ReservedFile = Pick<StoredFile, "id" | "owner" | "bytes" | "createdAt">;

/** The most bytes of all files of the owner, and of all files. */
export interface FileQuotas {
  readonly owner: number;
  readonly all: number;
}

export interface FileListQuery {
  readonly owner: string;
  /** Absent: all purposes. */
  readonly purpose?: string | undefined;
  /** The id of the last file of the page before. Absent: the first page. */
  readonly after?: string | undefined;
  readonly order: "asc" | "desc";
  readonly limit: number;
  /** Unix milliseconds. */
  readonly now: number;
}

interface FileRow {
  readonly id: string;
  readonly owner: string;
  readonly purpose: string;
  readonly filename: string;
  readonly bytes: SqlInteger;
  readonly created_at: SqlInteger;
  readonly expires_at: SqlInteger | null;
}

/** A small file takes a row and a block of the disk, and counts as this many bytes toward the quotas. */
const minCountedBytes = 4096;
const counted = `CASE WHEN bytes < ${minCountedBytes} THEN ${minCountedBytes} ELSE bytes END`;

/** Every method rejects once the store is closed. */
export const createFileIndex = (db: SqlDatabase) => ({
  /** Inserts a file without content. Otherwise returns which quota it would exceed. Absent quotas: none applies. */
  reserve: (
    { id, owner, bytes, createdAt }: ReservedFile,
    quotas?: FileQuotas,
  ): Promise<"reserved" | keyof FileQuotas> =>
    db.transaction(async (queries) => {
      const exceeded = quotas && (await exceededQuota(queries, owner, bytes, quotas));
      if (exceeded) return exceeded;
      await queries.query(
        `INSERT INTO vexel.files (id, owner, purpose, filename, bytes, created_at, state)
         VALUES ($1, $2, '', '', $3, $4, 'reserved')`,
        [id, owner, bytes, createdAt],
      );
      return "reserved";
    }),

  /** The content is complete. False: the reservation was deleted meanwhile. */
  async complete({
    id,
    purpose,
    filename,
    bytes,
    createdAt,
    expiresAt,
  }: StoredFile): Promise<boolean> {
    const { count } = await db.query(
      `UPDATE vexel.files SET purpose = $2, filename = $3, bytes = $4, created_at = $5,
         expires_at = $6, state = 'stored'
       WHERE id = $1 AND state = 'reserved'`,
      [id, purpose, filename, bytes, createdAt, expiresAt],
    );
    return count > 0;
  },

  /** Undefined: it does not exist, has expired, is incomplete, or belongs to another owner. `now`: Unix milliseconds. */
  async find(owner: string, id: string, now: number): Promise<StoredFile | undefined> {
    const { rows } = await db.query<FileRow>(
      `SELECT * FROM vexel.files WHERE id = $1 AND owner = $2 AND state = 'stored'
         AND (expires_at IS NULL OR expires_at > $3)`,
      [id, owner, now],
    );
    return rows[0] && fileOf(rows[0]);
  },

  /** By creation, without expired files. */
  async list({
    owner,
    purpose,
    after,
    order,
    limit,
    now,
  }: FileListQuery): Promise<readonly StoredFile[]> {
    const parameters = new Parameters();
    const conditions = [
      `owner = ${parameters.add(owner)}`,
      "state = 'stored'",
      `(expires_at IS NULL OR expires_at > ${parameters.add(now)})`,
    ];
    if (purpose !== undefined) conditions.push(`purpose = ${parameters.add(purpose)}`);
    if (after !== undefined)
      conditions.push(`id ${order === "asc" ? ">" : "<"} ${parameters.add(after)}`);
    const { rows } = await db.query<FileRow>(
      `SELECT * FROM vexel.files WHERE ${conditions.join(" AND ")}
       ORDER BY id ${order === "asc" ? "ASC" : "DESC"} LIMIT ${parameters.add(limit)}`,
      parameters.values,
    );
    return rows.map(fileOf);
  },

  /** No client sees the file any more, and `deletable` returns its id. False: `find` would not find it. */
  async hide(owner: string, id: string, now: number): Promise<boolean> {
    const { count } = await db.query(
      `UPDATE vexel.files SET state = 'hidden' WHERE id = $1 AND owner = $2 AND state = 'stored'
         AND (expires_at IS NULL OR expires_at > $3)`,
      [id, owner, now],
    );
    return count > 0;
  },

  /**
   * Ids of files whose content is to be deleted: hidden, expired, or reserved before `abandonedBefore`.
   * Both times: Unix milliseconds.
   */
  async deletable(now: number, abandonedBefore: number, limit: number): Promise<readonly string[]> {
    const { rows } = await db.query<{ id: string }>(
      `SELECT id FROM vexel.files WHERE state = 'hidden'
         OR (state = 'stored' AND expires_at <= $1) OR (state = 'reserved' AND created_at < $2)
       ORDER BY id LIMIT $3`,
      [now, abandonedBefore, limit],
    );
    return rows.map(({ id }) => id);
  },

  /** Deletes the row. Its content must be deleted already. */
  async remove(id: string): Promise<void> {
    await db.query("DELETE FROM vexel.files WHERE id = $1", [id]);
  },
});

export type FileIndex = ReturnType<typeof createFileIndex>;

async function exceededQuota(
  db: Queries,
  owner: string,
  bytes: number,
  quotas: FileQuotas,
): Promise<keyof FileQuotas | undefined> {
  // Locks the row in PostgreSQL: two transactions do not both count the same free bytes.
  await db.query("UPDATE vexel.file_quota_lock SET reservations = reservations + 1");
  const { rows } = await db.query<{ own: SqlInteger | null; total: SqlInteger | null }>(
    `SELECT sum(CASE WHEN owner = $1 THEN ${counted} ELSE 0 END) AS own, sum(${counted}) AS total
     FROM vexel.files`,
    [owner],
  );
  const added = Math.max(bytes, minCountedBytes);
  if (Number(rows[0]?.own ?? 0) + added > quotas.owner) return "owner";
  return Number(rows[0]?.total ?? 0) + added > quotas.all ? "all" : undefined;
}

const fileOf = ({ id, owner, purpose, filename, ...row }: FileRow): StoredFile => ({
  id,
  owner,
  purpose,
  filename,
  bytes: Number(row.bytes),
  createdAt: Number(row.created_at),
  expiresAt: integerOrNull(row.expires_at),
});
