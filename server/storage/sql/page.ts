/** Pages of a list, by cursor. */

export interface PageRequest {
  /** `next` of the page before. The default is the first page. */
  readonly cursor?: string | undefined;
  readonly limit: number;
}

export interface StoredPage<T> {
  readonly entries: readonly T[];
  /** The cursor of the next page. If absent, this is the last page. */
  readonly next?: string;
}

/** From one row more than the limit: that row shows whether there is another page. */
export function pageOf<Row, Entry>(
  rows: readonly Row[],
  limit: number,
  entryOf: (row: Row) => Entry,
  cursorOf: (last: Row) => string,
): StoredPage<Entry> {
  const last = rows[limit - 1];
  return {
    entries: rows.slice(0, limit).map(entryOf),
    ...(rows.length > limit && last && { next: cursorOf(last) }),
  };
}
