/** A page of a list, from one row more than its limit: that row shows whether there is another page. */
import type { StoredPage } from "../ports/page.ts";

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
