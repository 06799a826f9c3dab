/** Cost estimation before a request is sent: at the most expensive target, and rather too high than too low. */
import { describe, expect, test } from "bun:test";
import type { ParameterPolicy } from "../../server/config/snapshot.ts";
import { tryPlanQuery } from "../../server/images/plan/plan.ts";
import { estimateEmbeddings, estimateImages } from "../../server/limits/estimate-cost.ts";
import { adapters } from "../../server/upstream/adapters/index.ts";
import { estimateImageTokens } from "../../server/upstream/catalog/images/image-tokens.ts";
import { withEmbeddingPrices } from "../../server/upstream/catalog/prices/model-price.ts";
import type {
  EditQuery,
  GenerationQuery,
  ImageOptions,
  Target,
} from "../../server/upstream/contract.ts";
import { unrestrictedImages } from "../../server/upstream/image-capabilities.ts";
import type { Price } from "../../server/upstream/price.ts";

const target = (kind: string, model: string, price?: Price): Target => ({
  upstream: { id: kind, kind, headers: {}, options: {} },
  model,
  ...(price && { price }),
});

describe("an embeddings request", () => {
  const input = { kind: "text", texts: ["four", "a text of twenty-four c."] } as const;
  const embeddingTarget = (...given: Parameters<typeof target>): Target =>
    withEmbeddingPrices(target(...given));

  test("is estimated by its length, at the price of the most expensive target", () => {
    const targets = [
      embeddingTarget("openai", "text-embedding-3-small"),
      embeddingTarget("openai", "text-embedding-3-small", { tokens: { textIn: 1 } }),
    ];
    expect(estimateEmbeddings({ input }, targets)).toEqual({
      dollars: 7 / 1e6,
      // A token per byte, and a special token before and after each text.
      maxDollars: 32 / 1e6,
      isCertain: true,
    });
    const tokens = { kind: "tokens", tokens: [[1, 2, 3]] } as const;
    expect(estimateEmbeddings({ input: tokens }, targets.slice(0, 1)).dollars).toBeCloseTo(
      6e-8,
      15,
    );
  });

  test("costs nothing on a built-in model, and its estimate is uncertain if the price of one target is unknown", () => {
    expect(estimateEmbeddings({ input }, [embeddingTarget("minilm", "all-minilm-l6-v2")])).toEqual({
      dollars: 0,
      isCertain: true,
    });
    const targets = [
      embeddingTarget("openai", "text-embedding-3-large"),
      embeddingTarget("vllm", "e5"),
    ];
    const { dollars, isCertain: certain } = estimateEmbeddings({ input }, targets);
    expect(dollars).toBeCloseTo((7 * 0.13) / 1e6, 15);
    expect(certain).toBe(false);
  });
});

const queryWith = (options: ImageOptions = {}, extraFields = {}): GenerationQuery => ({
  model: "m",
  prompt: "a prompt of twenty c",
  stream: false,
  options,
  extraFields,
});

const capabilities = (at: Target, operation: "generations" | "edits") =>
  adapters.get(at.upstream.kind)?.imageCapabilities?.(at, operation) ?? unrestrictedImages;

const estimate = (
  targets: readonly Target[],
  query: GenerationQuery | EditQuery,
  policy: ParameterPolicy = "adapt",
) =>
  estimateImages({
    operation: "images" in query ? "edits" : "generations",
    targets,
    planFor: (at) =>
      tryPlanQuery(query, capabilities(at, "images" in query ? "edits" : "generations"), policy),
  });

/** Twenty characters of prompt are estimated as five tokens. */
const promptTokens = 5;

describe("the estimate of images billed per image", () => {
  test.each<[string, string, ImageOptions, number | undefined]>([
    ["openai", "dall-e-3", {}, 0.04],
    ["openai", "dall-e-3", { size: "auto", quality: "auto" }, 0.04],
    ["openai", "dall-e-3", { n: 3, size: "1792x1024" }, 0.24],
    // The adapter translates it to `hd`.
    ["openai", "dall-e-3", { quality: "high", size: "1024x1792" }, 0.12],
    ["bfl", "flux-pro-1.1", { n: 2 }, 0.08],
    // Billed per megapixel: of the requested size, or of the default size.
    ["together", "black-forest-labs/FLUX.1-schnell", {}, (0.0027 * 1024 * 1024) / 1e6],
    [
      "together",
      "black-forest-labs/FLUX.1-schnell",
      { size: "512x512" },
      (0.0027 * 512 * 512) / 1e6,
    ],
    ["sketch", "sketch", { n: 4 }, 0],
    ["openrouter", "google/gemini-3-pro-image", {}, undefined],
  ])("for %s %s with %p is %p", (kind, model, options, dollars) => {
    const { dollars: found, isCertain: certain } = estimate(
      [target(kind, model)],
      queryWith(options),
    );
    if (dollars === undefined) expect(found).toBeUndefined();
    else expect(found).toBeCloseTo(dollars, 12);
    expect(certain).toBe(dollars !== undefined);
  });

  test("assumes the best quality if the model may choose", () => {
    const price = {
      images: { "low 1024x1024": 0.01, "high 1024x1024": 0.2, "high 1536x1024": 0.3 },
    };
    const own = target("openai", "gpt-image-1", price);
    expect(estimate([own], queryWith()).dollars).toBe(0.2);
    expect(estimate([own], queryWith({ size: "1536x1024", quality: "auto" })).dollars).toBe(0.3);
    expect(estimate([own], queryWith({ quality: "low" })).dollars).toBe(0.01);
    // An unlisted combination is estimated at the highest listed price, and is uncertain.
    expect(estimate([own], queryWith({ quality: "medium" }))).toMatchObject({
      dollars: 0.3,
      isCertain: false,
    });
  });

  test("ignores targets that cannot generate the requested images", () => {
    const targets = [target("openai", "dall-e-3"), target("bfl", "flux-pro-1.1")];
    const { dollars } = estimate(
      targets,
      queryWith({ quality: "hd", size: "1024x1024", style: "vivid" }),
    );
    expect(dollars).toBeCloseTo(0.08, 12);
    const unsupported = estimate([target("openai", "dall-e-3")], queryWith({ size: "17x17" }));
    expect(unsupported).toEqual({ dollars: 0, isCertain: true });
  });
});

describe("the estimate of images billed by tokens", () => {
  const first = target("openai", "gpt-image-1");

  test.each<[ImageOptions, number]>([
    [{ quality: "low", size: "1024x1024" }, 272],
    [{ quality: "medium", size: "1536x1024", n: 2 }, 2 * 1568],
    // Unspecified options may take any value: the most expensive one is assumed.
    [{}, 6240],
    [{ quality: "auto", size: "1024x1024" }, 4160],
    [{ quality: "low", size: "auto" }, 408],
  ])("for gpt-image-1 with %p counts %p tokens", (options, tokens) => {
    const { n = 1 } = options;
    const { dollars, isCertain: certain } = estimate([first], queryWith(options));
    expect(dollars).toBeCloseTo((n * promptTokens * 5 + tokens * 40) / 1e6, 12);
    expect(certain).toBe(true);
  });

  test("counts partial images and input images", () => {
    const streamed = {
      ...queryWith({ quality: "low", size: "1024x1024", partial_images: 2 }),
      stream: true,
    };
    expect(estimate([first], streamed).dollars).toBeCloseTo(
      (promptTokens * 5 + 472 * 40) / 1e6,
      12,
    );
    const edit: EditQuery = {
      ...queryWith({ quality: "low", size: "1024x1024", input_fidelity: "high" }),
      images: [{ kind: "url", url: "https://example.com/a.png" }],
      files: [],
    };
    const { dollars } = estimate([first], edit);
    expect(dollars).toBeCloseTo((promptTokens * 5 + (581 + 6240) * 10 + 272 * 40) / 1e6, 12);
  });

  test("for Google depends on the size class and includes thinking tokens", () => {
    const pro = target("gemini", "gemini-3-pro-image");
    const usual = estimate([pro], queryWith()).dollars;
    expect(usual).toBeCloseTo((promptTokens * 2 + 900 * 12 + 1120 * 120) / 1e6, 12);
    const large = queryWith({ size: "1024x1024" }, { imageConfig: { imageSize: "4K" } });
    expect(estimate([pro], large).dollars).toBeCloseTo(
      (promptTokens * 2 + 900 * 12 + 2000 * 120) / 1e6,
      12,
    );
  });

  test("for a size that is sent to Google as 4K is the estimate for 4K", () => {
    const banana = target("gemini", "gemini-nano-banana-2.1");
    const at = (tokens: number) => (promptTokens * 1.5 + 900 * 7.5 + tokens * 30) / 1e6;
    expect(estimate([banana], queryWith({ size: "4096x4096" })).dollars).toBeCloseTo(at(2520), 12);
    expect(estimate([banana], queryWith({ size: "1024x1024" })).dollars).toBeCloseTo(at(1120), 12);
    // This model has no other resolution, whatever the requested size.
    const older = target("gemini", "gemini-2.5-flash-image");
    expect(estimate([older], queryWith({ size: "4096x4096" })).dollars).toBeCloseTo(
      (promptTokens * 0.3 + 1290 * 30) / 1e6,
      12,
    );
  });

  test("for a model with undocumented token counts assumes the highest documented count", () => {
    for (const model of ["gpt-image-2.5-flare", "gpt-image-99"]) {
      const own = target("openai", model, { tokens: { textIn: 5, imageIn: 8, imageOut: 30 } });
      const at = (tokens: number) => (promptTokens * 5 + tokens * 30) / 1e6;
      const { dollars, isCertain: certain } = estimate([own], queryWith());
      expect(dollars).toBeCloseTo(at(14_272), 12);
      expect(certain).toBe(true);
      const small = estimate([own], queryWith({ size: "1024x1024", quality: "low" }));
      expect(small.dollars).toBeCloseTo(at(625), 12);
    }
  });

  test("is uncertain and uses the other prices if one kind of token has no price", () => {
    const own = target("openai", "gpt-image-1", { tokens: { imageOut: 40 } });
    const { dollars, isCertain: certain } = estimate(
      [own],
      queryWith({ quality: "low", size: "1024x1024" }),
    );
    expect(dollars).toBeCloseTo(((20 + 2 + 272) * 40) / 1e6, 12);
    expect(certain).toBe(false);
  });
});

test("token counts of gpt-image-2 match OpenAI's calculator", () => {
  const out = (size: string, quality: string) =>
    estimateImageTokens("gpt-image-2")?.out(size, quality);
  const read: Readonly<Record<string, number>> = {
    "1024x1024": 7024,
    "1536x1024": 5488,
    "1024x1536": 5488,
    "1024x640": 3824,
    "3072x1024": 3952,
    "2560x1440": 7370,
    "3840x1280": 5311,
    "2048x2048": 14_272,
    "3840x2160": 13_342,
  };
  for (const [size, tokens] of Object.entries(read)) expect(out(size, "high")).toBe(tokens);
  expect(out("1024x1024", "low")).toBe(196);
  expect(out("1024x1024", "xhigh")).toBeUndefined();
  expect(out("huge", "low")).toBeUndefined();
});
