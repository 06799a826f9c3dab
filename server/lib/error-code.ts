/** The code and the message of a value that was thrown. */

/** The code that Node, Bun and SQLite put on their errors, such as ENOENT. Empty if there is none. */
export const errorCode = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";

export const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
