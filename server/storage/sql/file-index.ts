/** The files of clients, without their content, in a SQL database. Ids begin with their time, so they are in order. */
import type { FileIndex, FileQuotas, StoredFile } from "../ports/file-index.ts";
import {
  integerOrNull,
  Parameters,
  type Queries,
  type SqlDatabase,
  type SqlInteger,
} from "./database.ts";

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

export const createFileIndex = (db: SqlDatabase): FileIndex => ({
  reserve: ({ id, owner, bytes, createdAt }, quotas) =>
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

  async complete({ id, purpose, filename, bytes, createdAt, expiresAt }) {
    const { count } = await db.query(
      `UPDATE vexel.files SET purpose = $2, filename = $3, bytes = $4, created_at = $5,
         expires_at = $6, state = 'stored'
       WHERE id = $1 AND state = 'reserved'`,
      [id, purpose, filename, bytes, createdAt, expiresAt],
    );
    return count > 0;
  },

  async find(owner, id, now) {
    const { rows } = await db.query<FileRow>(
      `SELECT * FROM vexel.files WHERE id = $1 AND owner = $2 AND state = 'stored'
         AND (expires_at IS NULL OR expires_at > $3)`,
      [id, owner, now],
    );
    return rows[0] && fileOf(rows[0]);
  },

  async list({ owner, purpose, after, order, limit, now }) {
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

  async hide(owner, id, now) {
    const { count } = await db.query(
      `UPDATE vexel.files SET state = 'hidden' WHERE id = $1 AND owner = $2 AND state = 'stored'
         AND (expires_at IS NULL OR expires_at > $3)`,
      [id, owner, now],
    );
    return count > 0;
  },

  async deletable(now, abandonedBefore, limit) {
    const { rows } = await db.query<{ id: string }>(
      `SELECT id FROM vexel.files WHERE state = 'hidden'
         OR (state = 'stored' AND expires_at <= $1) OR (state = 'reserved' AND created_at < $2)
       ORDER BY id LIMIT $3`,
      [now, abandonedBefore, limit],
    );
    return rows.map(({ id }) => id);
  },

  async remove(id) {
    await db.query("DELETE FROM vexel.files WHERE id = $1", [id]);
  },
});

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
