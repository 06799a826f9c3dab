/**
 * Rows as one JSON parameter of a statement. PostgreSQL's text has neither NUL nor unpaired surrogates: they become
 * U+FFFD.
 */
export const jsonParameter = (rows: readonly object[]): string =>
  JSON.stringify(rows, (_, value: unknown) =>
    typeof value === "string" ? postgresText(value) : value,
  );

/** The text as PostgreSQL stores it. */
export const postgresText = (text: string): string =>
  text.toWellFormed().replaceAll("\u0000", "\ufffd");
