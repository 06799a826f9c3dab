/**
 * The files of clients (`/v1/files`), without their content, in a SQL database. A row is written before its content,
 * and deleted after it, so that every stored content has a row, and a sweep of the rows finds all of it. Ids begin
 * with their time, so they are in order.
 */
import {
  integerOrNull,
  Parameters,
  type Queries,
  type SqlDatabase,
  type SqlInteger,
} from "./database.ts";
import {
  changeSpace,
  type FileQuotas,
  lockSpace,
  spaceFor,
  spaceOf,
  takeSpace,
} from "./file-space.ts";

export interface StoredFile {
  readonly id: string;
  /** The project or the API key to which it belongs (`auth/owner.ts`). */
  readonly owner: string;
  readonly purpose: string;
  readonly filename: string;
  readonly bytes: number;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Unix milliseconds. Null if it does not expire. */
  readonly expiresAt: number | null;
}

/** A file whose content is not complete. Its bytes count toward the quotas, and no client sees it. */
export type ReservedFile = Pick<StoredFile, "id" | "owner" | "bytes" | "createdAt">;

/** The content of a file that was uploaded in parts: the parts, in their order. */
export interface FileParts {
  /** Their folder in the file store. */
  readonly folder: string;
  readonly parts: readonly { readonly id: string; readonly bytes: number }[];
}

export interface FileListQuery {
  readonly owner: string;
  /** The default is all purposes. */
  readonly purpose?: string | undefined;
  /** The id of the last file of the page before. The default is the first page. */
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

/** All but `parts`, which may be long. */
const columns = "id, owner, purpose, filename, bytes, created_at, expires_at";

/** Every method rejects once the store is closed. */
export const createFileIndex = (db: SqlDatabase) => ({
  /** Inserts a file without content. Otherwise returns which quota it would exceed. Absent quotas: none applies. */
  reserve: (file: ReservedFile, quotas?: FileQuotas): Promise<"reserved" | keyof FileQuotas> =>
    db.transaction((queries) => reserveFile(queries, file, quotas)),

  /** The space that files take, of the owner and of all owners. */
  space: (owner: string): Promise<FileQuotas> => spaceOf(db, owner),

  /** The content is complete. False: the reservation was deleted meanwhile. */
  complete: (file: StoredFile): Promise<boolean> => completeFile(db, file),

  /** Undefined if the content of the file is not in parts, or the file does not exist. */
  async parts(id: string): Promise<FileParts | undefined> {
    const { rows } = await db.query<{ parts: string | null }>(
      "SELECT parts FROM vexel.files WHERE id = $1",
      [id],
    );
    const text = rows[0]?.parts ?? null;
    return text === null ? undefined : (JSON.parse(text) as FileParts);
  },

  /**
   * Undefined if it does not exist, has expired, is incomplete, or belongs to another owner. `now`: Unix milliseconds.
   */
  async find(owner: string, id: string, now: number): Promise<StoredFile | undefined> {
    const { rows } = await db.query<FileRow>(
      `SELECT ${columns} FROM vexel.files WHERE id = $1 AND owner = $2 AND state = 'stored'
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
      `SELECT ${columns} FROM vexel.files WHERE ${conditions.join(" AND ")}
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
      `SELECT id FROM (
         SELECT id FROM vexel.files WHERE state = 'stored' AND expires_at <= $1
         UNION ALL
         SELECT id FROM vexel.files
         WHERE state <> 'stored' AND (state = 'hidden' OR created_at < $2)
       ) AS deletable ORDER BY id LIMIT $3`,
      [now, abandonedBefore, limit],
    );
    return rows.map(({ id }) => id);
  },

  /** Deletes the row. Its content must be deleted already. */
  remove: (id: string): Promise<void> =>
    db.transaction(async (queries) => {
      await lockSpace(queries);
      const { rows } = await queries.query<{ owner: string; space: SqlInteger }>(
        "DELETE FROM vexel.files WHERE id = $1 RETURNING owner, space",
        [id],
      );
      for (const { owner, space } of rows) await changeSpace(queries, owner, -Number(space));
    }),
});

export type FileIndex = ReturnType<typeof createFileIndex>;

/** Inserts a file without content. Otherwise returns which quota it would exceed. */
export async function reserveFile(
  queries: Queries,
  { id, owner, bytes, createdAt }: ReservedFile,
  quotas?: FileQuotas,
): Promise<"reserved" | keyof FileQuotas> {
  const space = spaceFor(bytes);
  const exceeded = await takeSpace(queries, owner, space, quotas);
  if (exceeded) return exceeded;
  await queries.query(
    `INSERT INTO vexel.files (id, owner, purpose, filename, bytes, space, created_at, state)
     VALUES ($1, $2, '', '', $3, $4, $5, 'reserved')`,
    [id, owner, bytes, space, createdAt],
  );
  return "reserved";
}

/** False: the reservation was deleted meanwhile. */
export async function completeFile(
  queries: Queries,
  { id, purpose, filename, bytes, createdAt, expiresAt }: StoredFile,
  parts?: FileParts,
): Promise<boolean> {
  const { count } = await queries.query(
    `UPDATE vexel.files SET purpose = $2, filename = $3, bytes = $4, created_at = $5,
       expires_at = $6, parts = $7, state = 'stored'
     WHERE id = $1 AND state = 'reserved'`,
    [id, purpose, filename, bytes, createdAt, expiresAt, parts ? JSON.stringify(parts) : null],
  );
  return count > 0;
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
