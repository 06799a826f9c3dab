/**
 * Rows as one JSON parameter of a statement. PostgreSQL's text has neither NUL nor unpaired surrogates: they become
 * U+FFFD.
 */
export const jsonParameter = (rows: readonly object[]): string =>
  JSON.stringify(rows, (_, value: unknown) =>
    typeof value === "string" ? value.toWellFormed().replaceAll("\u0000", "\ufffd") : value,
  );
