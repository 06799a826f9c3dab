/** The value of a header, out of the text it stands in. */

/** Blanks and tabs, and nothing else: `trim` also takes a byte from `chunked\xa0`, which others read as something else. */
export function trimOptionalWhitespace(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;
