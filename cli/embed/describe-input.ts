/** The lines about the input that are printed before anything is sent. */
import { costOf, type Inspection, printCost, type Size } from "./estimate.ts";
import { excerpt } from "./excerpt.ts";
import type { EmbedOptions } from "./options.ts";
import type { ModelPrice } from "./price.ts";
import { isOtherColumn } from "./read-rows.ts";

export function describeSize(
  { input, model, baseUrl }: EmbedOptions,
  size: Size,
  { dollars, isListed }: ModelPrice,
): string {
  const list = isListed && dollars ? " by list price" : "";
  const hint = dollars === undefined ? "; --price gives it" : list;
  const cost = `${printCost(costOf(size.tokens, dollars))}${hint}`;
  return `${input}: ${size.rows} rows, about ${size.tokens} tokens, ${cost}. Model ${model} at ${baseUrl}.\n`;
}

export function describeEmpty({ input, since, sinceColumn }: EmbedOptions): string {
  const rows =
    since === undefined ? "rows" : `rows whose column "${sinceColumn}" is greater than ${since}`;
  return `warning: ${input} has no ${rows}, so there is nothing to embed.\n`;
}

const maxNames = 50;
const maxText = 200;

/** What the options make of the input, for --dry-run. */
export function describeRows(options: EmbedOptions, found: Inspection): string {
  const { columns, first, failed, firstFailed } = found;
  const names = columns.slice(0, maxNames).map((name) => `"${excerpt(name, 100)}"`);
  const more = columns.length - names.length;
  const lines = [`Columns: ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`];
  const { idColumn = "id", textColumn } = options;
  const id = columns.includes(idColumn) ? `the column "${idColumn}"` : "the number of the row";
  lines.push(`Id: ${id}. Text: the column "${textColumn}".`);
  if (first)
    lines.push(`First row: ${JSON.stringify(first.id)}: "${excerpt(first.text, maxText)}"`);
  if (firstFailed)
    lines.push(`${failed} rows would fail, such as ${firstFailed.id}: ${firstFailed.error}`);
  if (options.otherColumns) {
    const others = columns.filter((name) => isOtherColumn(name, options)).slice(0, maxNames);
    lines.push(`The output has the columns id, ${[...others, "embedding"].join(", ")}.`);
  }
  return `${lines.join("\n")}\n`;
}
