/** Compares a column with --since: as numbers if both are numbers, as times if both are times, otherwise as texts. */

export function isSince(value: unknown, since: string): boolean {
  if (isAbsent(value)) return false;
  const text = textOf(value);
  for (const read of [readNumber, readTime]) {
    const [own, bound] = [read(text), read(since)];
    if (own !== undefined && bound !== undefined) return own > bound;
  }
  return text > since;
}

export type SinceKind = "number" | "time" | "text";

/** Undefined if there is no value. */
export const sinceKind = (value: unknown): SinceKind | undefined =>
  isAbsent(value) ? undefined : kindOfText(textOf(value));

function kindOfText(text: string): SinceKind {
  if (readNumber(text) !== undefined) return "number";
  return readTime(text) === undefined ? "text" : "time";
}

/** An empty field of a CSV file has no value. */
const isAbsent = (value: unknown): boolean => value === null || value === undefined || value === "";

const textOf = (value: unknown): string =>
  value instanceof Date ? value.toISOString() : String(value);

const wholeNumber = /^\s*[+-]?\d+\s*$/;

/** A whole number is a bigint, because ids may have more digits than a JavaScript number. */
function readNumber(text: string): number | bigint | undefined {
  if (wholeNumber.test(text)) return BigInt(text);
  return text.trim() === "" || Number.isNaN(Number(text)) ? undefined : Number(text);
}

/** Only ISO 8601: `Date.parse` takes a text such as "doc 12" for a month of 2001. */
const isoTime = /^\d{4}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d.*)?)?$/;

function readTime(text: string): number | undefined {
  const time = isoTime.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
