/** Pages of lists. */

/** One page of a list, newest first unless the endpoint says otherwise. */
export interface Page<Item> {
  readonly object: "list";
  readonly data: readonly Item[];
  /** Send it as `cursor` to get the next page. `null`: this is the last page. */
  readonly next_cursor: string | null;
}
