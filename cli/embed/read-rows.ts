/** The rows of the input that a run embeds: read, filtered by --since, limited, with id and text. */
import { statSync } from "node:fs";
import { errorCode, errorMessage } from "../../server/lib/error-code.ts";
import { UsageError } from "../command.ts";
import { type Cell, toCell } from "./cells.ts";
import { readCsv } from "./input/read-csv.ts";
import { readFolder } from "./input/read-folder.ts";
import { readJsonl } from "./input/read-jsonl.ts";
import { readParquet } from "./input/read-parquet.ts";
import { isSince } from "./is-since.ts";
import type { FailedRow, RowId, SourceRow, TextRow } from "./row.ts";
import { SeenColumns } from "./seen-columns.ts";

export interface InputOptions {
  /** A file, a folder, or "-" for JSON Lines on standard input. */
  readonly input: string;
  /** Undefined for the column `id`, and the number of the row if the first row has none. */
  readonly idColumn: string | undefined;
  readonly textColumn: string;
  /** Only rows whose `sinceColumn` is greater. */
  readonly since: string | undefined;
  readonly sinceColumn: string;
  readonly limit: number | undefined;
  /** Whether rows have their other columns. */
  readonly otherColumns: boolean;
  /** The files of the run, which are no input if they are in the input folder. */
  readonly ownFiles: ReadonlySet<string>;
}

/** Throws UsageError if the input cannot be read, or if no row has a column that an option names. */
export async function* readRows(
  options: InputOptions,
  seen: SeenColumns = new SeenColumns(options),
): AsyncGenerator<TextRow | FailedRow> {
  let number = 0;
  let taken = 0;
  let hasIds: boolean | undefined;
  for await (const row of readSource(options)) {
    if (taken === options.limit) break;
    number++;
    seen.add(row);
    if (options.since !== undefined && !isSince(row.columns[options.sinceColumn], options.since))
      continue;
    taken++;
    if (row.problem === undefined) hasIds ??= givenId(row, options) !== undefined;
    yield toRow(row, number, options, hasIds);
  }
  seen.check();
}

async function* readSource(options: InputOptions): AsyncGenerator<SourceRow> {
  try {
    yield* open(options);
  } catch (error) {
    // Of the operating system, such as EACCES.
    if (error instanceof UsageError || !errorCode(error)) throw error;
    throw new UsageError(`--input: ${options.input} cannot be read: ${errorMessage(error)}`);
  }
}

function open({ input, otherColumns, ...options }: InputOptions): AsyncGenerator<SourceRow> {
  if (input === "-") return readJsonl(input);
  const found = statSync(input, { throwIfNoEntry: false });
  if (!found) throw new UsageError(`--input: ${input} does not exist.`);
  if (found.isDirectory()) return readFolder(input, options.ownFiles);
  switch (/\.(\w+)$/.exec(input)?.[1]?.toLowerCase()) {
    case "jsonl":
    case "ndjson":
      return readJsonl(input);
    case "csv":
      return readCsv(input);
    case "parquet":
      return readParquet(input, {
        named: new Set([options.idColumn ?? "id", options.textColumn, options.sinceColumn]),
        others: otherColumns,
      });
    default:
      throw new UsageError(
        `--input must be a .jsonl, .csv or .parquet file, a folder, or "-", not ${input}.`,
      );
  }
}

const givenId = ({ columns }: SourceRow, { idColumn = "id" }: InputOptions): RowId | undefined =>
  toId(columns[idColumn]);

/** `hasIds`: the first readable row has an id. */
function toRow(
  source: SourceRow,
  number: number,
  options: InputOptions,
  hasIds: boolean | undefined,
): TextRow | FailedRow {
  const { columns, problem } = source;
  const { textColumn } = options;
  const given = givenId(source, options);
  const value = columns[textColumn];
  const text = typeof value === "string" ? value : undefined;
  const error = problem ?? problemOf(text, given, options, hasIds);
  const row = {
    id: given ?? number,
    ...(options.otherColumns && { cells: cellsOf(source, options) }),
  };
  return error === undefined ? { ...row, text: text ?? "" } : { ...row, text, error };
}

/** The columns that the output has under these names, whatever they are in the input. */
const outputColumns: readonly string[] = ["id", "embedding"];

export const isOtherColumn = (
  name: string,
  { idColumn = "id", textColumn }: Pick<InputOptions, "idColumn" | "textColumn">,
): boolean => name !== idColumn && name !== textColumn && !outputColumns.includes(name);

const cellsOf = ({ columns, fractional }: SourceRow, options: InputOptions): Cell[] =>
  Object.entries(columns)
    .filter(([name]) => isOtherColumn(name, options))
    .map(([name, value]) => toCell(name, value, fractional?.has(name)));

function problemOf(
  text: string | undefined,
  id: RowId | undefined,
  { textColumn, idColumn }: InputOptions,
  hasIds: boolean | undefined,
): string | undefined {
  if (text === undefined) return `The row has no text in the column "${textColumn}".`;
  if (text.trim() === "") return "The text is empty.";
  if (id === undefined && (idColumn !== undefined || hasIds))
    return `The row has no id in the column "${idColumn ?? "id"}".`;
  // The number of another row could be the same.
  if (id !== undefined && hasIds === false)
    return "The row has an id, and the first row has none: give an id to all rows, or to none.";
  return undefined;
}

function toId(value: unknown): RowId | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "bigint")
    return Number.isSafeInteger(Number(value)) ? Number(value) : `${value}`;
  return typeof value === "string" && value !== "" ? value : undefined;
}
