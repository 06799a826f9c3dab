/** One count of tokens for several inputs, shared out by weight so that the parts add up to exactly that count. */

/** `total` and `weights` are whole and not negative. By largest remainder; of equal ones the first gets more. */
export function shareUsage(total: number, weights: readonly number[]): number[] {
  let sum = 0;
  for (const weight of weights) sum += weight;
  // Nothing to go by: all count the same.
  const even = sum === 0;
  if (even) sum = weights.length;
  const parts: number[] = [];
  const remainders: number[] = [];
  let left = total;
  for (const weight of weights) {
    const { part, remainder } = divide(total, even ? 1 : weight, sum);
    parts.push(part);
    remainders.push(remainder);
    left -= part;
  }
  if (left === 0) return parts;
  const order = [...parts.keys()].sort((a, b) => remainders[b]! - remainders[a]! || a - b);
  for (const at of order.slice(0, left)) parts[at]!++;
  return parts;
}

/** `total * weight / sum`, exact: a rounding error would make a token out of nothing. */
function divide(
  total: number,
  weight: number,
  sum: number,
): { readonly part: number; readonly remainder: number } {
  const product = total * weight;
  if (Number.isSafeInteger(product)) {
    const remainder = product % sum;
    return { part: (product - remainder) / sum, remainder };
  }
  const large = BigInt(total) * BigInt(weight);
  return { part: Number(large / BigInt(sum)), remainder: Number(large % BigInt(sum)) };
}
