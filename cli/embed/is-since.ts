/** Compares a column with --since: as numbers if both are numbers, as times if both are times, otherwise as texts. */

export function isSince(value: unknown, since: string): boolean {
  if (value === null || value === undefined) return false;
  const text = value instanceof Date ? value.toISOString() : String(value);
  for (const read of [readNumber, readTime]) {
    const [own, bound] = [read(text), read(since)];
    if (own !== undefined && bound !== undefined) return own > bound;
  }
  return text > since;
}

const readNumber = (text: string): number | undefined =>
  text.trim() === "" || Number.isNaN(Number(text)) ? undefined : Number(text);

/** Only ISO 8601: `Date.parse` takes a text such as "doc 12" for a month of 2001. */
const isoTime = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?$/;

function readTime(text: string): number | undefined {
  const time = isoTime.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
