/** The seeds of several calls for one order: the same seed would make the same picture again. */
import type { ExtraFields } from "../upstream/contract.ts";

/**
 * How far seeds go, by how far the given one went: 31 bits, 32, or all that JSON has. One less than that, as Stability stops
 * at 4294967294 (tadasant/mcp-server-stability-ai, src/stabilityAi/sd35Client.ts).
 */
const seedLimits = [2 ** 31 - 1, 2 ** 32 - 1, Number.MAX_SAFE_INTEGER];

/**
 * `before`: for how many pictures others were asked already. A call for several takes as many seeds as pictures, one after
 * the other. What is below zero means "by chance" (-1), and is left as it is.
 */
export function advanceSeed(rest: ExtraFields, before: number): ExtraFields {
  const { seed } = rest;
  // Forms have no numbers.
  const isText = typeof seed === "string" && /^\d{1,15}$/.test(seed);
  const first = isText ? Number(seed) : seed;
  if (before === 0 || typeof first !== "number" || !Number.isSafeInteger(first) || first < 0) {
    return rest;
  }
  const end = seedLimits.find((last) => first <= last) ?? Number.MAX_SAFE_INTEGER;
  const next = (first + before) % end;
  return { ...rest, seed: isText ? String(next) : next };
}
