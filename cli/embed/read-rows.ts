/** The rows of the input that a run embeds: read, filtered by --since, limited, with id and text. */
import { statSync } from "node:fs";
import { UsageError } from "../command.ts";
import { readCsv } from "./input/read-csv.ts";
import { readFolder } from "./input/read-folder.ts";
import { readJsonl } from "./input/read-jsonl.ts";
import { readParquet } from "./input/read-parquet.ts";
import { isSince } from "./is-since.ts";
import type { FailedRow, RowId, SourceRow, TextRow } from "./row.ts";

export interface InputOptions {
  /** A file, a folder, or "-" for JSON Lines on standard input. */
  readonly input: string;
  /** Undefined: the column `id`, and the number of the row if there is none. */
  readonly idColumn: string | undefined;
  readonly textColumn: string;
  /** Only rows whose `sinceColumn` is greater. */
  readonly since: string | undefined;
  readonly sinceColumn: string;
  readonly limit: number | undefined;
}

export async function* readRows(options: InputOptions): AsyncGenerator<TextRow | FailedRow> {
  let number = 0;
  let taken = 0;
  for await (const row of open(options)) {
    if (taken === options.limit) return;
    number++;
    if (options.since !== undefined && !isSince(row.columns[options.sinceColumn], options.since))
      continue;
    taken++;
    yield toRow(row, number, options);
  }
}

function open(options: InputOptions): AsyncGenerator<SourceRow> {
  const { input } = options;
  if (input === "-") return readJsonl(input);
  const found = statSync(input, { throwIfNoEntry: false });
  if (!found) throw new UsageError(`--input: ${input} does not exist.`);
  if (found.isDirectory()) return readFolder(input);
  switch (/\.(\w+)$/.exec(input)?.[1]?.toLowerCase()) {
    case "jsonl":
    case "ndjson":
      return readJsonl(input);
    case "csv":
      return readCsv(input);
    case "parquet":
      return readParquet(input, [
        ...new Set([options.idColumn ?? "id", options.textColumn, options.sinceColumn]),
      ]);
    default:
      throw new UsageError(
        `--input must be a .jsonl, .csv or .parquet file, a folder, or "-", not ${input}.`,
      );
  }
}

function toRow(
  { columns, problem }: SourceRow,
  number: number,
  { idColumn, textColumn }: InputOptions,
): TextRow | FailedRow {
  const given = toId(columns[idColumn ?? "id"]);
  const id = given ?? number;
  const value = columns[textColumn];
  const text = typeof value === "string" ? value : undefined;
  const error = problem ?? problemOf(text, textColumn, given, idColumn);
  return error === undefined ? { id, text: text ?? "" } : { id, text, error };
}

function problemOf(
  text: string | undefined,
  textColumn: string,
  id: RowId | undefined,
  idColumn: string | undefined,
): string | undefined {
  if (text === undefined) return `The row has no text in the column "${textColumn}".`;
  if (text.trim() === "") return "The text is empty.";
  if (idColumn !== undefined && id === undefined)
    return `The row has no id in the column "${idColumn}".`;
  return undefined;
}

function toId(value: unknown): RowId | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "bigint")
    return Number.isSafeInteger(Number(value)) ? Number(value) : `${value}`;
  return typeof value === "string" && value !== "" ? value : undefined;
}
