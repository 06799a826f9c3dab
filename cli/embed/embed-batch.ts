/** Embeds the texts of a batch. A batch that the server refuses is halved, until the refused text is alone. */
import type { Embedded } from "./read-vectors.ts";
import { type FailedRow, isFailed, notFailed, type Result, type TextRow } from "./row.ts";
import { ServerError } from "./server-error.ts";

export interface EmbeddedBatch {
  readonly rows: readonly (TextRow | FailedRow)[];
  /** In the order of the rows. */
  readonly results: readonly Result[];
  readonly tokens: number;
}

type Embed = (texts: readonly string[]) => Promise<Embedded>;

export async function embedBatch(
  rows: readonly (TextRow | FailedRow)[],
  embed: Embed,
): Promise<EmbeddedBatch> {
  const texts = notFailed<TextRow>(rows);
  const embedded = await embedTexts(texts, embed);
  const next = embedded.results.values();
  const results = rows.map((row): Result => (isFailed(row) ? row : next.next().value!));
  return { rows, results, tokens: embedded.tokens };
}

async function embedTexts(
  rows: readonly TextRow[],
  embed: Embed,
): Promise<Omit<EmbeddedBatch, "rows">> {
  if (rows.length === 0) return { results: [], tokens: 0 };
  try {
    const { vectors, tokens = 0 } = await embed(rows.map(({ text }) => text));
    const results = rows.map(({ text, ...row }, at) => ({ ...row, vector: vectors[at]! }));
    return { results, tokens };
  } catch (error) {
    if (!(error instanceof ServerError && error.refusesTexts)) throw error;
    const [first] = rows;
    if (first && rows.length === 1)
      return { results: [{ ...first, error: error.message }], tokens: 0 };
    const middle = Math.ceil(rows.length / 2);
    const before = await embedTexts(rows.slice(0, middle), embed);
    const after = await embedTexts(rows.slice(middle), embed);
    return {
      results: [...before.results, ...after.results],
      tokens: before.tokens + after.tokens,
    };
  }
}
