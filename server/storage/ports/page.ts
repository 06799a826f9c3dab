/** Pagination: pages of a list, by cursor. */

export interface PageRequest {
  /** `next` of the page before. Absent: the first page. */
  readonly cursor?: string | undefined;
  readonly limit: number;
}

export interface StoredPage<T> {
  readonly entries: readonly T[];
  /** The cursor of the next page. Absent: this is the last page. */
  readonly next?: string;
}
