/**
 * The size class of an embeddings request. Latencies are compared within a class: a thousand texts may take a hundred
 * times as long as one.
 */
import type { EmbeddingsQuery } from "../upstream/contract.ts";

/** Upper bounds in characters, one fewer than there are classes; a token counts as four characters. */
const bounds = [8192, 65_536, 524_288] as const;
const [, , largest] = bounds;

export function sizeClassOf({ input }: EmbeddingsQuery): number {
  const [list, each] = input.kind === "text" ? [input.texts, 1] : [input.tokens, 4];
  let sum = 0;
  for (const { length } of list) {
    sum += length * each;
    if (sum >= largest) return bounds.length;
  }
  let size = 0;
  while (sum >= (bounds[size] as number)) size++;
  return size;
}
