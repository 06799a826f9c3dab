/** How large a call for vectors is, roughly: a thousand texts may take a hundred times as long as one, and nothing is wrong. */
import type { EmbeddingsQuery } from "../upstream/contract.ts";

/** In characters; a token counts as four. One less than there are sizes. */
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
