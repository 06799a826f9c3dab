/** Tokens that were counted once for several clients are apportioned exactly. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { quarterTokens, shareTokens } from "../../server/embeddings/embedding-usage.ts";
import { apportion } from "../../server/lib/apportion.ts";
import { tries } from "../depth.ts";

const sumOf = (parts: readonly number[]): number => parts.reduce((sum, part) => sum + part, 0);

describe("usage that is divided among requests", () => {
  test("is proportional to the weights", () => {
    expect(apportion(100, [1, 3])).toEqual([25, 75]);
    expect(apportion(7, [7])).toEqual([7]);
    expect(apportion(0, [5, 5])).toEqual([0, 0]);
  });

  test("gives the remainder to the largest fractions, and among equal ones to the first", () => {
    expect(apportion(10, [1, 1, 1])).toEqual([4, 3, 3]);
    expect(apportion(10, [6, 6, 1])).toEqual([5, 4, 1]);
    expect(apportion(1, [1, 2, 1])).toEqual([0, 1, 0]);
  });

  test("is divided equally if every weight is zero", () => {
    expect(apportion(5, [0, 0])).toEqual([3, 2]);
    expect(apportion(5, [])).toEqual([]);
  });

  test("gives nothing to a weight of zero beside a larger one", () => {
    expect(apportion(9, [0, 4, 0])).toEqual([0, 9, 0]);
  });

  const counts = fc.oneof(fc.nat({ max: 10_000 }), fc.maxSafeNat());
  const weights = fc.array(fc.oneof(fc.nat({ max: 50 }), fc.nat({ max: 2 ** 40 })), {
    minLength: 1,
    maxLength: 40,
  });

  test("adds up to exactly the total, whatever the weights", () => {
    fc.assert(
      fc.property(counts, weights, (total, weights) => {
        const parts = apportion(total, weights);
        expect(parts).toHaveLength(weights.length);
        expect(sumOf(parts)).toBe(total);
        expect(parts.every((part) => Number.isSafeInteger(part) && part >= 0)).toBe(true);
      }),
      tries(500),
    );
  });

  test("differs from the exact share by less than one token", () => {
    fc.assert(
      fc.property(fc.nat({ max: 100_000 }), weights, (total, weights) => {
        const whole = sumOf(weights);
        fc.pre(whole > 0);
        for (const [at, part] of apportion(total, weights).entries()) {
          expect(Math.abs(part - (total * weights[at]!) / whole)).toBeLessThan(1 + 1e-6);
        }
      }),
      tries(300),
    );
  });

  test("is deterministic", () => {
    fc.assert(
      fc.property(counts, weights, (total, weights) => {
        expect(apportion(total, weights)).toEqual(apportion(total, weights));
      }),
      tries(100),
    );
  });
});

describe("the tokens of a request, divided among its inputs,", () => {
  test("are at least 1 for every input with a weight, if there are enough", () => {
    expect(shareTokens(102, [1, 10_000, 1])).toEqual([1, 100, 1]);
    expect(shareTokens(3, [1, 10_000, 0, 1])).toEqual([1, 1, 0, 1]);
    expect(shareTokens(2, [1, 10_000, 1])).toEqual([0, 2, 0]);
    expect(shareTokens(0, [1, 1])).toEqual([0, 0]);
    expect(shareTokens(5, [0, 0])).toEqual([3, 2]);
  });

  test("add up to the total, whatever the weights", () => {
    const weights = fc.array(fc.nat({ max: 5_000 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(fc.nat({ max: 20_000 }), weights, (total, weights) => {
        const parts = shareTokens(total, weights);
        expect(sumOf(parts)).toBe(total);
        expect(Math.min(...parts)).toBeGreaterThanOrEqual(0);
        const needed = weights.filter((weight) => weight > 0).length;
        if (total < needed) return;
        for (const [at, part] of parts.entries())
          if (weights[at]! > 0) expect(part).toBeGreaterThan(0);
      }),
      tries(200),
    );
  });

  test("are estimated by script: 4 characters of English, 1 of Chinese", () => {
    expect(quarterTokens("")).toBe(0);
    expect(quarterTokens("otter")).toBe(5);
    expect(quarterTokens("日".repeat(100))).toBe(400);
    expect(quarterTokens("я".repeat(100))).toBe(200);
    expect(quarterTokens("日".repeat(1_000_000))).toBe(4_000_000);
  });
});
