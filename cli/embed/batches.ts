/** Groups rows into batches: at most `size` rows, and few enough characters for one request. */

/** OpenAI allows 300,000 tokens in a request, and a character is rarely more than one token. */
const maxCharacters = 200_000;

export async function* batchesOf<T extends { readonly text: string | undefined }>(
  rows: AsyncIterable<T>,
  size: number,
): AsyncGenerator<readonly T[]> {
  let batch: T[] = [];
  let characters = 0;
  for await (const row of rows) {
    const length = row.text?.length ?? 0;
    if (batch.length === size || (batch.length > 0 && characters + length > maxCharacters)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(row);
    characters += length;
  }
  if (batch.length > 0) yield batch;
}
