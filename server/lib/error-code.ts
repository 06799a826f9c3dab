/** The code, the message and the stack trace of a value that was thrown. */

/** The code that Node, Bun and SQLite put on their errors, such as ENOENT. Empty if there is none. */
export const errorCode = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";

export const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** The message with its stack trace, for the log: never for a client. */
export const errorStack = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
