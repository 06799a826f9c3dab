/** Converts offsets of a text into lines and columns, both from 1. */

export interface LinePosition {
  readonly line: number;
  readonly column: number;
}

/** Computed from the text: the YAML library's own counter misses lines in some broken files. */
export function positionsIn(text: string): (offset: number) => LinePosition {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - starts[low]! + 1 };
  };
}
