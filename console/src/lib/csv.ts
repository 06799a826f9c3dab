/** Reads text files of users, and CSV as of RFC 4180. */

/** The text of a file in UTF-8. Undefined if the file is not text, such as a PDF. */
export function decodeText(bytes: ArrayBuffer): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.startsWith("%PDF-") || text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

export interface CsvRow {
  /** The line of the file in which it begins, from 1: a quoted cell may have line breaks. */
  readonly line: number;
  readonly cells: readonly string[];
}

export class InvalidCsv extends Error {
  /** From 1. */
  readonly row: number;
  readonly line: number;

  constructor(row: number, line: number) {
    super(`Row ${row} is not valid CSV.`);
    this.row = row;
    this.line = line;
  }
}

/** Throws InvalidCsv. */
export function parseCsv(content: string): CsvRow[] {
  const rows: CsvRow[] = [];
  let cells: string[] = [];
  let line = 1;
  let next = 1;
  // A quoted field, in which a doubled quote means a quote; or a plain field; then what ends it.
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy;
  while (field.lastIndex < content.length) {
    const match = field.exec(content);
    if (!match) throw new InvalidCsv(rows.length + 1, next);
    const [text, quoted, plain = "", end] = match;
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    if (text.includes("\n")) next += text.split("\n").length - 1;
    if (end !== ",") {
      rows.push({ line, cells });
      cells = [];
      line = next;
    }
  }
  if (cells.length > 0) rows.push({ line, cells: [...cells, ""] });
  return rows;
}
