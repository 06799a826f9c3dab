/** The price lists: each names its source, and belongs to an existing kind of upstream. */
import { describe, expect, test } from "bun:test";
import { reportCost } from "../../server/images/image-cost.ts";
import { RequestRecord } from "../../server/request/request-record.ts";
import {
  listedEmbeddingPrice,
  listedImagePrice,
  listedPrices,
} from "../../server/upstream/catalog/prices/model-price.ts";
import type {
  BufferedImageResponse,
  ExtraFields,
  GenerationQuery,
  Target,
} from "../../server/upstream/contract.ts";
import { kinds } from "../../server/upstream/kinds.ts";

const at = (kind: string, model: string, more: Partial<Target> = {}, baseUrl?: string): Target => ({
  upstream: { id: kind, kind, headers: {}, options: {}, ...(baseUrl && { baseUrl }) },
  model,
  ...more,
});
const generated = (target: Target, extraFields: ExtraFields = {}) =>
  listedImagePrice(target, { operation: "generations", extraFields });
const edited = (target: Target) =>
  listedImagePrice(target, { operation: "edits", extraFields: {} });

describe("every listed price", () => {
  const numbers = listedPrices.flatMap(({ price, edits, model }) =>
    [price, ...(edits && edits !== "unknown" ? [edits] : [])].flatMap((entry) =>
      [
        ...Object.values(entry.tokens ?? {}),
        ...Object.values(entry.images ?? {}),
        ...(entry.megapixel === undefined ? [] : [entry.megapixel]),
      ].map((dollars): [string, number] => [String(model), dollars]),
    ),
  );

  test("is above zero", () => {
    for (const [model, dollars] of numbers)
      expect(`${model} ${dollars > 0 && dollars <= 200}`).toBe(`${model} true`);
    expect(numbers.length).toBeGreaterThan(listedPrices.length);
  });

  test("names its source, and the year it was read in", () => {
    const bare = listedPrices.filter(({ source }) => !/[a-z]\.[a-z]|\//.test(source));
    expect(bare).toEqual([]);
    expect(listedPrices.filter(({ source }) => !/\b202[5-9]\b/.test(source))).toEqual([]);
  });

  test("belongs to a kind of upstream that can be configured", () => {
    const named = [...new Set(listedPrices.flatMap((row) => row.kinds))];
    expect(named.filter((kind) => !kinds.has(kind))).toEqual([]);
  });

  test("matches whole names, so that a later model does not get the price of an earlier one", () => {
    const loose = listedPrices.filter(
      ({ model }) => model.test("gpt-image-1-x-9") || !/\$$/.test(model.source),
    );
    expect(loose.map(({ model }) => String(model))).toEqual([]);
  });
});

describe("an image at a link has the price of its resolution class", () => {
  const costOf = (target: Target, query: Partial<GenerationQuery>, quality?: string) => {
    const record = new RequestRecord("req_1", "generations", 0);
    const imageQuery = {
      model: "m",
      prompt: "p",
      stream: false,
      options: {},
      extraFields: {},
      ...query,
    };
    const response: BufferedImageResponse = {
      kind: "buffered",
      results: [{ image: { kind: "url", url: "https://v3.fal.media/1.png" } }],
      metadata: { ...(quality && { quality }) },
    };
    reportCost(response, {
      operation: "generations",
      target,
      query: imageQuery,
      report: record,
    });
    return record.charge.cost;
  };

  test("if the model takes aspect ratios, by the size that was requested", () => {
    const target = at("fal", "fal-ai/nano-banana-2");
    const sized = (size?: string) =>
      costOf(target, { aspectRatio: "1:1", ...(size && { requestedSize: size }) });
    expect([sized(), sized("1024x1024"), sized("2048x2048"), sized("4096x4096")]).toEqual([
      0.08, 0.08, 0.12, 0.16,
    ]);
    const own = costOf(target, { aspectRatio: "1:1", extraFields: { resolution: "4K" } });
    expect(own).toBeUndefined();
  });

  test("for OpenAI's models at fal, by quality and size", () => {
    const target = at("fal", "openai/gpt-image-2.5/flare/text-to-image");
    const options = { size: "1024x1024", quality: "max" };
    expect(costOf(target, { options }, "max")).toBe(0.21072);
    expect(costOf(target, { options }, undefined)).toBeUndefined();
  });
});

describe("a price is found", () => {
  test("by kind and name, and not at another kind", () => {
    expect(generated(at("openai", "gpt-image-1.5"))?.tokens?.imageOut).toBe(32);
    expect(generated(at("openai", "gpt-image-2-2026-04-21"))?.tokens?.imageOut).toBe(30);
    expect(generated(at("openai-compatible", "gpt-image-1.5"))).toBeUndefined();
    expect(generated(at("openai", "gpt-image-99"))).toBeUndefined();
    expect(
      generated(at("vertex", "publishers/google/models/gemini-2.5-flash-image")),
    ).toBeDefined();
    expect(generated(at("bedrock", "us.stability.stable-image-core-v1:1"))).toBeDefined();
    expect(listedEmbeddingPrice(at("openai", "text-embedding-3-small"))).toBe(0.02);
    expect(listedEmbeddingPrice(at("vllm", "text-embedding-3-small"))).toBeUndefined();
  });

  test("for edits if it differs, and none if it is not listed", () => {
    expect(generated(at("stability", "core"))?.images?.[""]).toBe(0.03);
    expect(edited(at("stability", "core"))?.images?.[""]).toBe(0.05);
    expect(edited(at("stability", "stable-image-ultra"))).toBeUndefined();
    expect(edited(at("openai", "gpt-image-2"))).toEqual(
      generated(at("openai", "gpt-image-2")) ?? {},
    );
  });

  test("unless a field of the vendor's own changes it", () => {
    const target = at("gemini", "gemini-2.5-flash-image");
    expect(generated(target, { temperature: 1 })).toBeDefined();
    expect(generated(target, { tools: [{ googleSearch: {} }] })).toBeUndefined();
  });

  test("only for a vendor that charges it", () => {
    const intl = "https://dashscope-intl.aliyuncs.com/api/v1";
    const wan = (region?: string) => generated(at("dashscope", "wan2.1-t2i-plus", {}, region));
    expect(wan(intl)?.images?.[""]).toBe(0.05);
    expect(wan("https://dashscope.aliyuncs.com/api/v1")).toBeUndefined();
    const qwen = (version: string) =>
      generated(at("dashscope", `qwen-image-${version}`, {}, intl))?.images?.[""];
    expect(["2.0", "2.0-pro", "3.0", "3.0-pro"].map(qwen)).toEqual([0.035, 0.075, 0.03, undefined]);
  });

  test("not for the Responses API, because the language model's share is not reported", () => {
    expect(generated(at("openai", "gpt-image-2", { surface: "responses" }))).toBeUndefined();
  });

  test("of OpenAI's embedding models at Azure, which are a tenth higher than OpenAI's", () => {
    const prices = (kind: string) =>
      ["text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002"].map((model) =>
        listedEmbeddingPrice(at(kind, model)),
      );
    expect(prices("openai")).toEqual([0.02, 0.13, 0.1]);
    expect(prices("azure")).toEqual([0.022, 0.143, 0.11]);
  });

  test("to be zero for models that run inside the gateway", () => {
    expect(generated(at("sketch", "sketch"))?.images?.[""]).toBe(0);
    expect(listedEmbeddingPrice(at("minilm", "minilm"))).toBe(0);
  });
});
