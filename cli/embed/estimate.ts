/** The size of the input and its price, before anything is sent. */
import { knownEmbedding } from "../../server/upstream/catalog/index.ts";
import { countTokens } from "../../server/upstream/tokenizers.ts";
import { type FailedRow, isFailed, type TextRow } from "./row.ts";

export interface Size {
  readonly rows: number;
  /** Estimated from a sample with OpenAI's tokenizer. */
  readonly tokens: number;
}

/** The texts that are tokenized. */
const sampleTexts = 500;

export async function measure(rows: AsyncIterable<TextRow | FailedRow>): Promise<Size> {
  const sample: string[] = [];
  let count = 0;
  let characters = 0;
  for await (const row of rows) {
    count++;
    if (isFailed(row)) continue;
    characters += row.text.length;
    if (sample.length < sampleTexts) sample.push(row.text);
  }
  const sampled = sample.reduce((sum, text) => sum + text.length, 0);
  if (sampled === 0) return { rows: count, tokens: 0 };
  const tokens = ((await countTokens(sample)) * characters) / sampled;
  return { rows: count, tokens: Math.round(tokens) };
}

/** US dollars for a million tokens: the highest list price of the vendors that serve the model. Undefined: not known. */
export function listedPrice(model: string): number | undefined {
  const prices = Object.values(knownEmbedding(model)?.price ?? {});
  return prices.length === 0 ? undefined : Math.max(...prices);
}

export const costOf = (tokens: number, price: number | undefined): number | undefined =>
  price === undefined ? undefined : (tokens * price) / 1e6;

export const printCost = (dollars: number | undefined): string =>
  dollars === undefined ? "unknown cost" : `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`;
