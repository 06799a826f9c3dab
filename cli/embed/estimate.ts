/** The size of the input and its price, before anything is sent. */
import { countTokens } from "../../server/upstream/tokenizers.ts";
import { type InputOptions, readRows } from "./read-rows.ts";
import { type FailedRow, isFailed, type TextRow } from "./row.ts";
import { SeenColumns } from "./seen-columns.ts";

export interface Size {
  readonly rows: number;
  /** Estimated from a sample with OpenAI's tokenizer. */
  readonly tokens: number;
}

/** The texts that are tokenized. */
const sampleTexts = 500;

/** What was found in the input before anything is sent. */
export interface Inspection extends Size {
  readonly columns: readonly string[];
  /** The first row to embed. */
  readonly first: TextRow | undefined;
  /** Rows without a text. */
  readonly failed: number;
  readonly firstFailed: FailedRow | undefined;
}

/** Throws UsageError if the input cannot be read, or has not the columns that the options name. */
export async function inspect(options: InputOptions): Promise<Inspection> {
  const seen = new SeenColumns(options);
  const sample: string[] = [];
  let rows = 0;
  let failed = 0;
  let characters = 0;
  let first: TextRow | undefined;
  let firstFailed: FailedRow | undefined;
  for await (const row of readRows({ ...options, otherColumns: false }, seen)) {
    rows++;
    if (isFailed(row)) {
      failed++;
      firstFailed ??= row;
      continue;
    }
    first ??= row;
    characters += row.text.length;
    if (sample.length < sampleTexts) sample.push(row.text);
  }
  const sampled = sample.reduce((sum, text) => sum + text.length, 0);
  const tokens = sampled === 0 ? 0 : ((await countTokens(sample)) * characters) / sampled;
  return {
    rows,
    tokens: Math.round(tokens),
    columns: seen.names,
    first,
    failed,
    firstFailed,
  };
}

export const costOf = (tokens: number, price: number | undefined): number | undefined =>
  price === undefined ? undefined : (tokens * price) / 1e6;

export const printCost = (dollars: number | undefined): string =>
  dollars === undefined ? "unknown cost" : `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`;
