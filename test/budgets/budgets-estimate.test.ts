/** What a call may cost is estimated before it is made: at the dearest target, and rather too much than too little. */
import { describe, expect, test } from "bun:test";
import { estimateEmbeddings, estimateImages } from "../../server/budgets/estimate-cost.ts";
import { ObservedCosts } from "../../server/budgets/observed-costs.ts";
import type { Policy } from "../../server/images/plan/image-plan.ts";
import type { Price } from "../../server/lib/price.ts";
import { adapters } from "../../server/upstream/adapters/index.ts";
import { estimateImageTokens } from "../../server/upstream/catalog/images/image-tokens.ts";
import type {
  EditQuery,
  GenerationQuery,
  ImageOptions,
  Target,
} from "../../server/upstream/contract.ts";
import { unrestrictedImages } from "../../server/upstream/image-capabilities.ts";

const target = (kind: string, model: string, price?: Price): Target => ({
  upstream: { id: kind, kind, headers: {}, options: {} },
  model,
  ...(price && { price }),
});

describe("vectors", () => {
  const input = { kind: "text", texts: ["four", "a text of twenty-four c."] } as const;

  test("are estimated by their length, at the price of the dearest target", () => {
    const targets = [
      target("openai", "text-embedding-3-small"),
      target("openai", "text-embedding-3-small", { tokens: { textIn: 1 } }),
    ];
    expect(estimateEmbeddings({ input }, targets)).toEqual({
      dollars: 7 / 1e6,
      // Every byte a token, and one before and one behind each text.
      maxDollars: 32 / 1e6,
      isCertain: true,
    });
    const tokens = { kind: "tokens", tokens: [[1, 2, 3]] } as const;
    expect(estimateEmbeddings({ input: tokens }, targets.slice(0, 1)).dollars).toBeCloseTo(
      6e-8,
      15,
    );
  });

  test("of a model inside cost nothing; where one target has no known price, nothing is certain", () => {
    expect(estimateEmbeddings({ input }, [target("minilm", "all-minilm-l6-v2")])).toEqual({
      dollars: 0,
      isCertain: true,
    });
    const targets = [target("openai", "text-embedding-3-large"), target("vllm", "e5")];
    const { dollars, isCertain: certain } = estimateEmbeddings({ input }, targets);
    expect(dollars).toBeCloseTo((7 * 0.13) / 1e6, 15);
    expect(certain).toBe(false);
  });
});

const asked = (options: ImageOptions = {}, rest = {}): GenerationQuery => ({
  ...{ model: "m", prompt: "a prompt of twenty c", stream: false, options, rest },
});

const traits = (at: Target, operation: "generations" | "edits") =>
  adapters.get(at.upstream.kind)?.imageCapabilities?.(at, operation) ?? unrestrictedImages;

const estimate = (
  targets: readonly Target[],
  query: GenerationQuery | EditQuery,
  policy: Policy = "adapt",
) =>
  estimateImages({
    operation: "images" in query ? "edits" : "generations",
    ...{ query, targets, policy, capabilities: traits },
  });

/** Twenty characters of prompt are five tokens. */
const words = 5;

describe("pictures that are paid for each", () => {
  test.each<[string, string, ImageOptions, number | undefined]>([
    ["openai", "dall-e-3", {}, 0.04],
    ["openai", "dall-e-3", { size: "auto", quality: "auto" }, 0.04],
    ["openai", "dall-e-3", { n: 3, size: "1792x1024" }, 0.24],
    // Its own word for that is hd.
    ["openai", "dall-e-3", { quality: "high", size: "1024x1792" }, 0.12],
    ["bfl", "flux-pro-1.1", { n: 2 }, 0.08],
    // For each million pixels: as large as asked, or as usual.
    ["together", "black-forest-labs/FLUX.1-schnell", {}, (0.0027 * 1024 * 1024) / 1e6],
    [
      "together",
      "black-forest-labs/FLUX.1-schnell",
      { size: "512x512" },
      (0.0027 * 512 * 512) / 1e6,
    ],
    ["sketch", "sketch", { n: 4 }, 0],
    ["openrouter", "google/gemini-3-pro-image", {}, undefined],
  ])("%s %s %p: %p", (kind, model, options, dollars) => {
    const { dollars: found, isCertain: certain } = estimate([target(kind, model)], asked(options));
    if (dollars === undefined) expect(found).toBeUndefined();
    else expect(found).toBeCloseTo(dollars, 12);
    expect(certain).toBe(dollars !== undefined);
  });

  test("are taken to be of the best quality where the model may choose", () => {
    const price = {
      images: { "low 1024x1024": 0.01, "high 1024x1024": 0.2, "high 1536x1024": 0.3 },
    };
    const own = target("openai", "gpt-image-1", price);
    expect(estimate([own], asked()).dollars).toBe(0.2);
    expect(estimate([own], asked({ size: "1536x1024", quality: "auto" })).dollars).toBe(0.3);
    expect(estimate([own], asked({ quality: "low" })).dollars).toBe(0.01);
    // What the list has not is as dear as the dearest that it has, and nothing is certain.
    expect(estimate([own], asked({ quality: "medium" }))).toMatchObject({
      dollars: 0.3,
      isCertain: false,
    });
  });

  test("by a target that cannot make them cost nothing there", () => {
    const targets = [target("openai", "dall-e-3"), target("bfl", "flux-pro-1.1")];
    const { dollars } = estimate(
      targets,
      asked({ quality: "hd", size: "1024x1024", style: "vivid" }),
    );
    expect(dollars).toBeCloseTo(0.08, 12);
    const nobody = estimate([target("openai", "dall-e-3")], asked({ size: "17x17" }));
    expect(nobody).toEqual({ dollars: 0, isCertain: true });
  });
});

describe("pictures that are paid for by tokens", () => {
  const first = target("openai", "gpt-image-1");

  test.each<[ImageOptions, number]>([
    [{ quality: "low", size: "1024x1024" }, 272],
    [{ quality: "medium", size: "1536x1024", n: 2 }, 2 * 1568],
    // Unasked it may be any of them.
    [{}, 6240],
    [{ quality: "auto", size: "1024x1024" }, 4160],
    [{ quality: "low", size: "auto" }, 408],
  ])("of gpt-image-1 with %p are %p tokens", (options, tokens) => {
    const { n = 1 } = options;
    const { dollars, isCertain: certain } = estimate([first], asked(options));
    expect(dollars).toBeCloseTo((n * words * 5 + tokens * 40) / 1e6, 12);
    expect(certain).toBe(true);
  });

  test("count their previews, and what goes in", () => {
    const streamed = {
      ...asked({ quality: "low", size: "1024x1024", partial_images: 2 }),
      stream: true,
    };
    expect(estimate([first], streamed).dollars).toBeCloseTo((words * 5 + 472 * 40) / 1e6, 12);
    const edit: EditQuery = {
      ...asked({ quality: "low", size: "1024x1024", input_fidelity: "high" }),
      images: [{ kind: "url", url: "https://example.com/a.png" }],
      files: [],
    };
    const { dollars } = estimate([first], edit);
    expect(dollars).toBeCloseTo((words * 5 + (581 + 6240) * 10 + 272 * 40) / 1e6, 12);
  });

  test("of Google are counted by class of size, with the words it thinks in", () => {
    const pro = target("gemini", "gemini-3-pro-image");
    const usual = estimate([pro], asked()).dollars;
    expect(usual).toBeCloseTo((words * 2 + 900 * 12 + 1120 * 120) / 1e6, 12);
    const large = asked({ size: "1024x1024" }, { imageConfig: { imageSize: "4K" } });
    expect(estimate([pro], large).dollars).toBeCloseTo(
      (words * 2 + 900 * 12 + 2000 * 120) / 1e6,
      12,
    );
  });

  test("of a size that Google is asked for as 4K are estimated as 4K", () => {
    const banana = target("gemini", "gemini-nano-banana-2.1");
    const at = (tokens: number) => (words * 1.5 + 900 * 7.5 + tokens * 30) / 1e6;
    expect(estimate([banana], asked({ size: "4096x4096" })).dollars).toBeCloseTo(at(2520), 12);
    expect(estimate([banana], asked({ size: "1024x1024" })).dollars).toBeCloseTo(at(1120), 12);
    // This one has no other resolution, whatever size is asked for.
    const older = target("gemini", "gemini-2.5-flash-image");
    expect(estimate([older], asked({ size: "4096x4096" })).dollars).toBeCloseTo(
      (words * 0.3 + 1290 * 30) / 1e6,
      12,
    );
  });

  test("of a model that nobody has told the tokens of are taken to have the most that any other has", () => {
    for (const model of ["gpt-image-2.5-flare", "gpt-image-99"]) {
      const own = target("openai", model, { tokens: { textIn: 5, imageIn: 8, imageOut: 30 } });
      const at = (tokens: number) => (words * 5 + tokens * 30) / 1e6;
      const { dollars, isCertain: certain, guessed } = estimate([own], asked());
      expect(dollars).toBeCloseTo(at(14_272), 12);
      expect({ certain, guessed }).toEqual({ certain: true, guessed: true });
      const small = estimate([own], asked({ size: "1024x1024", quality: "low" }));
      expect(small.dollars).toBeCloseTo(at(625), 12);
    }
  });

  test("of which one kind of token has no price are estimated by the others, and nothing is certain", () => {
    const own = target("openai", "gpt-image-1", { tokens: { imageOut: 40 } });
    const { dollars, isCertain: certain } = estimate(
      [own],
      asked({ quality: "low", size: "1024x1024" }),
    );
    expect(dollars).toBeCloseTo(((20 + 2 + 272) * 40) / 1e6, 12);
    expect(certain).toBe(false);
  });
});

test("of gpt-image-2 the tokens are those of OpenAI's calculator, as read off it", () => {
  const out = (size: string, quality: string) =>
    estimateImageTokens("gpt-image-2")?.out(size, quality);
  const read: Readonly<Record<string, number>> = {
    ...{ "1024x1024": 7024, "1536x1024": 5488, "1024x1536": 5488, "1024x640": 3824 },
    ...{ "3072x1024": 3952, "2560x1440": 7370, "3840x1280": 5311, "2048x2048": 14_272 },
    ...{ "3840x2160": 13_342 },
  };
  for (const [size, tokens] of Object.entries(read)) expect(out(size, "high")).toBe(tokens);
  expect(out("1024x1024", "low")).toBe(196);
  expect(out("1024x1024", "xhigh")).toBeUndefined();
  expect(out("huge", "low")).toBeUndefined();
});

test("what pictures cost lately is remembered, the dearer at once, and no more than so many", () => {
  const costs = new ObservedCosts(3);
  expect(costs.get("a")).toBeUndefined();
  costs.record("a", 0.1);
  costs.record("a", 0.3);
  expect(costs.get("a")).toBe(0.3);
  for (let call = 0; call < 100; call++) costs.record("a", 0.1);
  expect(costs.get("a")).toBeCloseTo(0.1, 4);
  for (const name of ["b", "c", "d"]) costs.record(name, 1);
  expect(costs.get("a")).toBeUndefined();
  expect(costs.get("d")).toBe(1);
});
