/** Reads texts from a pasted block or a dropped file: one text per line, per row of a CSV file, or per JSON line. */

import { decodeText, InvalidCsv, parseCsv } from "../../lib/csv.ts";

export interface ReadTexts {
  readonly texts: readonly string[];
  /** Texts beyond `maxTexts`, which were left out. */
  readonly leftOut: number;
  /** The columns of a CSV file, or the string members of JSON lines. Empty: the file has none. */
  readonly columns: readonly string[];
  /** The column that the texts are from. */
  readonly column: string | undefined;
  /** The values beside each text, in the order of the texts. JSON lines may also have numbers. */
  readonly rows: readonly Columns[];
}

/** The values of a row by the name of the column. */
type Columns = Readonly<Record<string, string>>;

/** A text, or the columns that may be one, and with them all values. */
type Row = string | { readonly texts: Columns; readonly values: Columns };

/** A line of a file that has no text, or is not valid. */
export class UnreadableLine extends Error {
  readonly reason: "noText" | "invalidCsv";
  /** From 1. */
  readonly line: number;

  constructor(reason: UnreadableLine["reason"], line: number) {
    super(reason === "noText" ? `Line ${line} has no text.` : `Row ${line} is not valid CSV.`);
    this.reason = reason;
    this.line = line;
  }
}

/** The similarity of all pairs is computed and drawn: more texts would take minutes. */
export const maxTexts = 1_000;

/** Usual names of a column with texts, the most likely first. */
const textColumns: readonly string[] = [
  "text",
  "input",
  "content",
  "document",
  "body",
  "sentence",
  "passage",
  "query",
  "question",
  "prompt",
  "description",
  "title",
];
const otherColumns: readonly string[] = ["id", "key", "index", "name", "label", "category", "url"];

/** What a file has instead of texts. */
export type Unreadable =
  | { readonly reason: "notText" }
  | { readonly reason: UnreadableLine["reason"]; readonly line: number };

/** Runs in the worker: a large file takes seconds. `column`: as in `readTexts`. */
export async function readFileTexts(
  file: File,
  column: string | undefined,
): Promise<ReadTexts | Unreadable> {
  const text = decodeText(await file.arrayBuffer());
  if (text === undefined) return { reason: "notText" };
  try {
    return readTexts(text, file.name, column);
  } catch (error) {
    if (error instanceof UnreadableLine) return { reason: error.reason, line: error.line };
    throw error;
  }
}

/** `columnName`: the column to read. Without it, the column that is named like a text, or else the longest. */
export function readTexts(content: string, fileName = "", columnName?: string): ReadTexts {
  const extension = fileName.toLowerCase().split(".").at(-1);
  const rows = readRows(content, extension);
  const columns = [
    ...new Set(rows.flatMap((row) => (typeof row === "string" ? [] : Object.keys(row.texts)))),
  ];
  const column = columnName ?? likelyColumn(rows, columns);
  const found = rows
    .map((row, at) => ({ row, text: textIn(row, column, at).trim() }))
    .filter(({ text }) => text !== "");
  const used = found.slice(0, maxTexts);
  return {
    texts: used.map(({ text }) => text),
    leftOut: found.length - used.length,
    columns,
    column,
    rows: used.map(({ row }) => (typeof row === "string" ? {} : row.values)),
  };
}

function readRows(content: string, extension: string | undefined): readonly Row[] {
  if (extension === "csv") return readCsv(content);
  return extension === "jsonl" ? readJsonLines(content) : content.split("\n");
}

function likelyColumn(rows: readonly Row[], columns: readonly string[]): string | undefined {
  const named = textColumns
    .map((name) => columns.find((column) => column.trim().toLowerCase() === name))
    .find((column) => column !== undefined);
  if (named !== undefined) return named;
  const lengthOf = (column: string): number =>
    rows.reduce(
      (sum, row) => sum + (typeof row === "string" ? 0 : (row.texts[column]?.length ?? 0)),
      0,
    );
  return columns.toSorted((a, b) => lengthOf(b) - lengthOf(a))[0];
}

function textIn(row: Row, column: string | undefined, at: number): string {
  const text = typeof row === "string" ? row : row.texts[column ?? ""];
  if (text === undefined) throw new UnreadableLine("noText", at + 1);
  return text;
}

/** Each line is a string, or an object with string members. An empty line is an empty text. */
const readJsonLines = (content: string): Row[] =>
  content.split("\n").map((line, at) => {
    if (line.trim() === "") return "";
    try {
      const value: unknown = JSON.parse(line);
      if (typeof value === "string") return value;
      if (typeof value === "object" && value !== null && !Array.isArray(value))
        return {
          texts: membersOf(value, ["string"]),
          values: membersOf(value, ["string", "number"]),
        };
    } catch {
      // Reported below, like a line without a text.
    }
    throw new UnreadableLine("noText", at + 1);
  });

const membersOf = (value: object, types: readonly string[]): Columns =>
  Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => types.includes(typeof member))
      .map(([name, member]) => [name, String(member)]),
  );

/** RFC 4180. A first row with a usual name of a column is a header. Without one, columns have numbers. */
function readCsv(content: string): Row[] {
  const rows = csvCells(content);
  const [first = []] = rows;
  const hasHeader = first.some((cell) =>
    [...textColumns, ...otherColumns].includes(cell.trim().toLowerCase()),
  );
  const nameOf = (at: number): string => (hasHeader && first[at]?.trim()) || String(at + 1);
  return (hasHeader ? rows.slice(1) : rows).map((cells) => {
    const values = Object.fromEntries([
      // A short row has empty texts.
      ...first.map((_, at) => [nameOf(at), ""]),
      ...cells.map((cell, at) => [nameOf(at), cell]),
    ]);
    return { texts: values, values };
  });
}

function csvCells(content: string): (readonly string[])[] {
  try {
    return parseCsv(content).map(({ cells }) => cells);
  } catch (error) {
    throw error instanceof InvalidCsv ? new UnreadableLine("invalidCsv", error.row) : error;
  }
}
