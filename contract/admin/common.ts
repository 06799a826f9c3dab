/** Roles, pages of lists, and the error shape of the admin API. */
/** What a user of the console may do. Each role includes the earlier ones. */
export const roles = ["viewer", "developer", "admin"] as const;
export type Role = (typeof roles)[number];

/** One page of a list, newest first unless the endpoint says otherwise. */
export interface Page<Item> {
  readonly object: "list";
  readonly data: readonly Item[];
  /** Send it as `cursor` to get the next page. `null`: this is the last page. */
  readonly next_cursor: string | null;
}

/** An error of the admin API, in OpenAI's shape. */
export interface AdminError {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
  };
}
