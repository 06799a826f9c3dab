/** Apportionment: divides a whole number into whole parts that add up to it, such as tokens among inputs. */

/**
 * Divides `total` in proportion to the weights (largest remainder method). `total` and `weights` are non-negative
 * integers. Of equal remainders the first gets more.
 */
export function apportion(total: number, weights: readonly number[]): number[] {
  let sum = 0;
  for (const weight of weights) sum += weight;
  // All weights are 0: each gets an equal part.
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

/** `total * weight / sum`, exact: a rounding error would change the sum of the parts. */
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
