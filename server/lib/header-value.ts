/** Reads the value of a header from the text of the request or response head. */

/**
 * Removes optional whitespace (OWS, RFC 9110): spaces and tabs only. `trim` also removes `\xa0`, which other parsers
 * keep.
 */
export function trimOptionalWhitespace(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;
