/** Cost of a request: the sum of its known parts, and undefined if any part is unknown. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { sumUsage } from "../../server/images/image-usage.ts";
import { costOf, type Delivered } from "../../server/upstream/catalog/prices/request-cost.ts";
import type { Price } from "../../server/upstream/price.ts";

const dollars = fc.double({ min: 0, max: 1000, noNaN: true });
const count = fc.nat({ max: 1_000_000 });
const size = fc.constantFrom("512x512", "1024x1024", "1536x1024", "auto", "");
const quality = fc.constantFrom("low", "high", "hd");

const maybe = { requiredKeys: [] };
const price: fc.Arbitrary<Price> = fc.record(
  {
    tokens: fc.record(
      { textIn: dollars, imageIn: dollars, textOut: dollars, imageOut: dollars },
      maybe,
    ),
    images: fc.dictionary(
      fc.constantFrom("", "high", "1024x1024", "high 1024x1024", "<=1024x1024", "low <=512x512"),
      dollars,
    ),
    megapixel: dollars,
  },
  maybe,
);
const split = fc.record({ text: count, image: count });
const delivered: fc.Arbitrary<Delivered> = fc
  .record(
    { images: fc.integer({ min: 1, max: 10 }), input: split, output: split, size, quality },
    { requiredKeys: ["images"] },
  )
  .map((what) => ({
    ...what,
    inputTokens: what.input && what.input.text + what.input.image,
    outputTokens: what.output && what.output.text + what.output.image,
  }));

const near = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * (1 + Math.abs(b));

describe("for any price and any result", () => {
  test("a cost is never negative and always finite", () => {
    fc.assert(
      fc.property(price, delivered, (charged, what) => {
        const cost = costOf(charged, what);
        return cost === undefined || (cost >= 0 && Number.isFinite(cost));
      }),
    );
  });

  test("n times the usage costs n times as much", () => {
    const many = (what: Delivered, n: number): Delivered => {
      const more = (part: Delivered["input"]) =>
        part && { text: part.text * n, image: part.image * n };
      return {
        ...what,
        images: what.images * n,
        inputTokens: what.inputTokens === undefined ? undefined : what.inputTokens * n,
        outputTokens: what.outputTokens === undefined ? undefined : what.outputTokens * n,
        input: more(what.input),
        output: more(what.output),
      };
    };
    fc.assert(
      fc.property(price, delivered, fc.integer({ min: 2, max: 10 }), (charged, what, n) => {
        const [one, all] = [costOf(charged, what), costOf(charged, many(what, n))];
        return one === undefined ? all === undefined : all !== undefined && near(all, n * one);
      }),
    );
  });

  test("the cost that the upstream reports wins, unless it is invalid", () => {
    fc.assert(
      fc.property(
        fc.option(price, { nil: undefined }),
        delivered,
        dollars,
        (charged, what, reportedCost) => {
          expect(costOf(charged, { ...what, reportedCost })).toBe(reportedCost);
          const unsaid = costOf(charged, what);
          for (const odd of [-1, Number.NaN, Number.POSITIVE_INFINITY])
            expect(costOf(charged, { ...what, reportedCost: odd })).toBe(unsaid as number);
        },
      ),
    );
  });

  test("the cost is unknown without a price", () => {
    fc.assert(fc.property(delivered, (what) => costOf(undefined, what) === undefined));
    expect(costOf({}, { images: 1 })).toBeUndefined();
  });
});

describe("tokens", () => {
  const charged: Price = { tokens: { textIn: 5, imageIn: 8, textOut: 10, imageOut: 32 } };
  const used = { images: 1, inputTokens: 100, outputTokens: 1000 };
  const known = { ...used, input: { text: 20, image: 80 }, output: { text: 0, image: 1000 } };

  test("cost the price of their kind", () => {
    expect(costOf(charged, known)).toBeCloseTo((20 * 5 + 80 * 8 + 1000 * 32) / 1e6, 12);
  });

  test("have an unknown cost if they were not counted", () => {
    expect(costOf(charged, { images: 1 })).toBeUndefined();
    expect(
      costOf(charged, { ...known, outputTokens: undefined, output: undefined }),
    ).toBeUndefined();
  });

  test("have an unknown cost if text and image tokens are not counted separately, unless their prices are equal", () => {
    expect(costOf(charged, { ...known, input: undefined })).toBeUndefined();
    const alike: Price = { tokens: { textIn: 2, imageIn: 2, textOut: 8, imageOut: 8 } };
    expect(costOf(alike, used)).toBeCloseTo((100 * 2 + 1000 * 8) / 1e6, 12);
  });

  test("have an unknown cost if their kind has no price, unless there are none", () => {
    const partly: Price = { tokens: { textIn: 5, imageOut: 30 } };
    expect(costOf(partly, known)).toBeUndefined();
    const prompt = { ...known, input: { text: 100, image: 0 } };
    expect(costOf(partly, prompt)).toBeCloseTo((100 * 5 + 1000 * 30) / 1e6, 12);
  });
});

describe("the summed usage of several responses", () => {
  const used = (input: object | undefined) => ({
    total_tokens: 30,
    input_tokens: 10,
    output_tokens: 20,
    ...(input && { input_tokens_details: { ...input } }),
  });

  test("has only the detail that all of them have", () => {
    const each = used({ text_tokens: 4, image_tokens: 6 });
    expect(sumUsage(each, each)).toEqual({
      total_tokens: 60,
      input_tokens: 20,
      output_tokens: 40,
      input_tokens_details: { text_tokens: 8, image_tokens: 12 },
    });
    for (const other of [undefined, { text_tokens: 10 }, { text_tokens: 4, image_tokens: "6" }])
      expect(sumUsage(each, used(other))).toEqual({
        total_tokens: 60,
        input_tokens: 20,
        output_tokens: 40,
      });
  });
});

describe("images", () => {
  const charged: Price = {
    images: {
      "hd 1024x1024": 0.08,
      "hd <=2048x2048": 0.12,
      hd: 0.2,
      "1024x1024": 0.04,
      "<=512x512": 0.01,
      "<=1024x1024": 0.03,
      "": 0.5,
    },
  };
  test.each<[string | undefined, string | undefined, number]>([
    ["hd", "1024x1024", 0.08],
    ["hd", "1792x1024", 0.12],
    ["hd", "4096x4096", 0.2],
    ["hd", undefined, 0.2],
    ["standard", "1024x1024", 0.04],
    [undefined, "1024x1024", 0.04],
    [undefined, "768x1024", 0.03],
    [undefined, "256x256", 0.01],
    [undefined, "1536x1024", 0.5],
    [undefined, undefined, 0.5],
  ])("of quality %p and size %p cost %p", (quality, delivers, dollars) => {
    expect(costOf(charged, { images: 1, quality, size: delivers })).toBe(dollars);
  });

  test("have an unknown cost if no price matches", () => {
    const few: Price = { images: { "high 1024x1024": 0.17 } };
    expect(costOf(few, { images: 1, size: "1024x1024" })).toBeUndefined();
    expect(costOf(few, { images: 1, quality: "high" })).toBeUndefined();
    expect(costOf(few, { images: 2, quality: "high", size: "1024x1024" })).toBe(0.34);
  });

  test("billed by pixels have an unknown cost without a size", () => {
    const charged: Price = { megapixel: 0.01 };
    expect(costOf(charged, { images: 2, size: "1000x500" })).toBeCloseTo(0.01, 12);
    expect(costOf(charged, { images: 2 })).toBeUndefined();
  });
});
