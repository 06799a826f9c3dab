/** Reads texts from a pasted block or a dropped file: one text per line, per row of a CSV file, or per JSON line. */

export interface ReadTexts {
  readonly texts: readonly string[];
  /** Texts beyond `maxTexts`, which were left out. */
  readonly leftOut: number;
}

/** The similarity of all pairs is computed in the page: more texts would block it for seconds. */
export const maxTexts = 1_000;

export function readTexts(content: string, fileName = ""): ReadTexts {
  const extension = fileName.toLowerCase().split(".").at(-1);
  const all =
    extension === "csv"
      ? readCsv(content)
      : extension === "jsonl"
        ? readJsonLines(content)
        : content.split("\n");
  const texts = all.map((text) => text.trim()).filter((text) => text !== "");
  return { texts: texts.slice(0, maxTexts), leftOut: Math.max(0, texts.length - maxTexts) };
}

/** Each line is a string, or an object whose first string member is the text. Throws with the number of a bad line. */
function readJsonLines(content: string): string[] {
  return content.split("\n").flatMap((line, at) => {
    if (line.trim() === "") return [];
    try {
      const value: unknown = JSON.parse(line);
      const text =
        typeof value === "object" && value !== null
          ? Object.values(value).find((member) => typeof member === "string")
          : value;
      if (typeof text === "string") return [text];
    } catch {
      // Reported below, like a line without a text.
    }
    throw new Error(`Line ${at + 1} has no text.`);
  });
}

/** The first column of each row (RFC 4180). A first row that is named like a column is a header. */
function readCsv(content: string): string[] {
  const firstColumn = parseCsv(content).map(([first = ""]) => first);
  return /^(?:text|input|content|sentence|title|query)$/i.test(firstColumn[0]?.trim() ?? "")
    ? firstColumn.slice(1)
    : firstColumn;
}

export function parseCsv(content: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  // A quoted field, in which a doubled quote means a quote; or a plain field; then what ends it.
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy;
  while (field.lastIndex < content.length) {
    const match = field.exec(content);
    if (!match) throw new Error(`Row ${rows.length + 1} is not valid CSV.`);
    const [, quoted, plain = "", end] = match;
    row.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end !== ",") {
      rows.push(row);
      row = [];
    }
  }
  if (row.length > 0) rows.push([...row, ""]);
  return rows;
}
