/**
 * The image models that Vexel provisions by itself: they exist, they last, and they have a price where one is listed.
 */
import { describe, expect, test } from "bun:test";
import { fromEnvironment } from "../../server/config/sources/environment-source.ts";
import { listedImagePrice } from "../../server/upstream/catalog/prices/model-price.ts";
import { catalogModels } from "../../server/upstream/catalog/served-models.ts";
import { isShutDown, shutdownDateOf } from "../../server/upstream/catalog/shutdowns/index.ts";
import type { Target } from "../../server/upstream/contract.ts";

const read = Date.parse("2026-11-15");
const images = Object.entries(catalogModels).flatMap(([kind, rows]) =>
  rows.flatMap((row) => (row.kind === "image" ? [[kind, row.id] as const] : [])),
);

describe("a provisioned image model", () => {
  test.each(images)("%s %s was not shut down when the catalog was read", (kind, id) => {
    const shutdown = shutdownDateOf(id, kind);
    expect(shutdown && isShutDown(shutdown, read)).not.toBe(true);
  });

  test("is left out from its shutdown date on", () => {
    const env = {
      OPENAI_API_KEY: "k",
      OPENROUTER_API_KEY: "k",
      GEMINI_API_KEY: "k",
      AWS_BEARER_TOKEN_BEDROCK: "k",
      AWS_REGION: "us-west-2",
      XAI_API_KEY: "k",
    };
    const at = (day: string) =>
      fromEnvironment(env, Date.parse(day)).upstreams.flatMap(({ models }) =>
        models.map(({ name }) => name),
      );
    const before = at("2026-11-16");
    for (const gone of ["amazon.nova-canvas-v1:0", "gemini-3.1-flash-image", "gpt-image-1"]) {
      expect(before).not.toContain(gone);
    }
    for (const now of ["gemini-nano-banana-2.1", "grok-imagine-image-2.0", "openai/gpt-image-2"]) {
      expect(before).toContain(now);
    }
    expect(before).toContain("gemini-2.5-flash-image");
    expect(at("2027-03-15")).not.toContain("gemini-2.5-flash-image");
  });
});

describe("shutdown dates differ by vendor", () => {
  test.each([
    ["gpt-image-1.5", "openai", "2026-12-01"],
    ["gpt-image-1.5", "azure", "2026-12-16"],
    ["gemini-3.1-flash-image", "gemini", "2026-10-29"],
    ["gemini-3.1-flash-image", "vertex", "2027-05-28"],
    ["grok-imagine-image-quality", "xai", "2026-11-02"],
    ["dall-e-3", "openai", "2026-05-12"],
  ])("%s at %s is shut down on %s", (model, kind, on) => {
    expect(shutdownDateOf(model, kind)?.on).toBe(on);
  });
});

describe("prices of November 2026", () => {
  const price = (kind: string, model: string) => {
    const target: Target = { model, upstream: { id: "u", kind, headers: {}, options: {} } };
    return listedImagePrice(target, { operation: "generations", extraFields: {} });
  };

  test.each([
    ["gemini", "gemini-nano-banana-2.1", { textIn: 1.5, imageIn: 1.5, textOut: 7.5, imageOut: 30 }],
    ["vertex", "gemini-nano-banana-2.1", { textIn: 1.5, imageIn: 1.5, textOut: 7.5, imageOut: 30 }],
    ["gemini", "gemini-3.1-flash-image", { textIn: 0.5, imageIn: 0.5, textOut: 3, imageOut: 60 }],
    ["azure", "gpt-image-2.5-flare", { textIn: 5, imageIn: 8, textOut: 10, imageOut: 30 }],
    ["azure", "gpt-image-1.5", { textIn: 5, imageIn: 8, textOut: 10, imageOut: 32 }],
  ])("%s %s is priced by tokens", (kind, model, tokens) => {
    expect(price(kind, model)?.tokens).toEqual(tokens);
  });

  test.each([
    ["xai", "grok-imagine-image-2.0", { low: 0.04, medium: 0.06, "": 0.06 }],
    ["fal", "fal-ai/imagen4/preview", { "": 0.0398 }],
    ["fal", "fal-ai/recraft/v3/text-to-image", { "": 0.0398 }],
  ])("%s %s is priced by image", (kind, model, imageList) => {
    expect(price(kind, model)?.images).toEqual(imageList);
  });
});
