/** An error of the admin API, in OpenAI's shape. */
export interface AdminError {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
  };
}
