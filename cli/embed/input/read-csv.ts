/** Reads CSV (RFC 4180): the first record names the columns; quoted fields may contain commas, quotes and line breaks. */
import { UsageError } from "../../command.ts";
import { excerpt } from "../excerpt.ts";
import type { SourceRow } from "../row.ts";
import { checkLength, decodeText } from "./decode-text.ts";

export async function* readCsv(path: string): AsyncGenerator<SourceRow> {
  let names: readonly string[] | undefined;
  for await (const record of recordsOf(decodeText(path))) {
    if (names === undefined) names = checkNames(record);
    else yield toRow(names, record);
  }
}

/** Of two columns of one name, a row would have only the last one. */
function checkNames(names: readonly string[]): readonly string[] {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return names;
  throw new UsageError(
    `--input: the first record names the column "${excerpt(twice, 100)}" twice. Give each column a name of its own`,
  );
}

function toRow(names: readonly string[], record: readonly string[]): SourceRow {
  const columns = Object.fromEntries(names.map((name, at) => [name, record[at]]));
  if (record.length === names.length) return { columns };
  const problem = `The record has ${record.length} fields, and the first record ${names.length}.`;
  return { columns, problem };
}

/** The records of a CSV text. Empty lines are left out. */
export async function* recordsOf(chunks: AsyncIterable<string>): AsyncGenerator<string[]> {
  const parser = new CsvParser();
  for await (const chunk of chunks) yield* parser.parse(chunk);
  yield* parser.end();
}

type State = "start" | "plain" | "quoted" | "quote";

/** Keeps an incomplete record between chunks. */
class CsvParser {
  #state: State = "start";
  #field = "";
  #record: string[] = [];
  /** The number of the line, and the line of the last quote that has opened a field. */
  #line = 1;
  #quoteLine = 1;

  *parse(chunk: string): Generator<string[]> {
    let at = 0;
    while (at < chunk.length) {
      const end = this.#endOfRun(chunk, at);
      const run = chunk.slice(at, end);
      this.#field += run;
      if (this.#state === "quoted") this.#line += run.split("\n").length - 1;
      checkLength(this.#field, "field");
      if (end > at && this.#state === "start") this.#state = "plain";
      if (end === chunk.length) return;
      const record = this.#take(chunk[end] ?? "");
      if (record) yield record;
      at = end + 1;
    }
  }

  /** Throws UsageError if a quote is not closed: the rest of the file is in its field. */
  *end(): Generator<string[]> {
    if (this.#state === "quoted")
      throw new UsageError(
        `--input: the quote that opens a field in line ${this.#quoteLine} is not closed`,
      );
    const record = this.#endRecord();
    if (record) yield record;
  }

  /** The end of the characters that have no meaning in this state. */
  #endOfRun(chunk: string, from: number): number {
    const special = this.#state === "quoted" ? /"/g : /[",\r\n]/g;
    // After a quote, the next character decides.
    if (this.#state === "quote") return from;
    special.lastIndex = from;
    return special.exec(chunk)?.index ?? chunk.length;
  }

  #take(character: string): string[] | undefined {
    if (this.#state === "quoted") {
      this.#state = "quote";
      return undefined;
    }
    switch (character) {
      case '"':
        this.#takeQuote();
        return undefined;
      case ",":
        this.#endField();
        return undefined;
      case "\n":
        this.#line++;
        return this.#endRecord();
      case "\r":
        // Part of the line break, as in files of Windows.
        return undefined;
      default:
        // Only after a quote. In a file of quoted fields, a quote that is not closed ends at the next one.
        throw new UsageError(
          `--input: text follows the quote that closes a field, in line ${this.#line}. Its field begins in line ${this.#quoteLine}`,
        );
    }
  }

  #takeQuote(): void {
    // A second quote within a quoted field is a quote; a quote within a plain field is an ordinary character.
    if (this.#state !== "start") this.#field += '"';
    else this.#quoteLine = this.#line;
    this.#state = this.#state === "plain" ? "plain" : "quoted";
  }

  #endField(): void {
    this.#record.push(this.#field);
    this.#field = "";
    this.#state = "start";
  }

  #endRecord(): string[] | undefined {
    const isEmptyLine = this.#record.length === 0 && this.#state === "start";
    if (isEmptyLine) return undefined;
    this.#endField();
    const record = this.#record;
    this.#record = [];
    return record;
  }
}
