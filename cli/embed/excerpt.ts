/** The start of a text from outside, on one line of the terminal: without control characters, and not too long. */

export function excerpt(text: string, maxLength: number): string {
  const line = text.replace(/[\s\p{C}]+/gu, " ").trim();
  return line.length <= maxLength ? line : `${line.slice(0, maxLength)}…`;
}
