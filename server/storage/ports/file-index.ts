/**
 * Port: the files of clients (`/v1/files`), without their content. A row is written before its content, and deleted
 * after it, so that every stored content has a row, and a sweep of the rows finds all of it.
 */

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

/** Every method rejects once the store is closed. */
export interface FileIndex {
  /** Inserts a file without content. Otherwise returns which quota it would exceed. Absent quotas: none applies. */
  reserve(file: ReservedFile, quotas?: FileQuotas): Promise<"reserved" | keyof FileQuotas>;
  /** The content is complete. False: the reservation was deleted meanwhile. */
  complete(file: StoredFile): Promise<boolean>;
  /** Undefined: it does not exist, has expired, is incomplete, or belongs to another owner. `now`: Unix milliseconds. */
  find(owner: string, id: string, now: number): Promise<StoredFile | undefined>;
  /** By creation, without expired files. */
  list(query: FileListQuery): Promise<readonly StoredFile[]>;
  /** No client sees the file any more, and `deletable` returns its id. False: `find` would not find it. */
  hide(owner: string, id: string, now: number): Promise<boolean>;
  /**
   * Ids of files whose content is to be deleted: hidden, expired, or reserved before `abandonedBefore`.
   * Both times: Unix milliseconds.
   */
  deletable(now: number, abandonedBefore: number, limit: number): Promise<readonly string[]>;
  /** Deletes the row. Its content must be deleted already. */
  remove(id: string): Promise<void>;
}
