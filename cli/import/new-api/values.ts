/** Values of new-api's tables. An export may have any text in place of a number. */

/** `absent`: the number of a column that is NULL. Undefined if the value is not a number. */
export function numberOf(value: unknown, absent: number): number | undefined {
  if (value === null || value === undefined) return absent;
  if (typeof value === "string" && value.trim() === "") return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

/** Databases and exports have true, 1, "1" or "true". Undefined if the value is neither true nor false. */
export function flagOf(value: unknown): boolean | undefined {
  if (value === null || value === undefined) return false;
  const text = String(value).toLowerCase();
  if (text === "true" || text === "1") return true;
  return text === "false" || text === "0" ? false : undefined;
}
