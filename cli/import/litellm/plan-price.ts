/** The price of a target: the price of the entry, or else the list price of the vendor that the entry names. */

import type { ModelKind } from "../../../contract/model-kinds.ts";
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { type PlannedPrice, type PricedModel, planListPrice } from "../list-price.ts";
import type { SubjectReport } from "../report.ts";
import type { Parameters } from "./plan-upstream.ts";

export function planPrice(
  model: PricedModel,
  params: Parameters,
  info: JsonObject,
  report: SubjectReport,
): PlannedPrice {
  const given = givenPrice(model.kind, params, info, report);
  if (given) return { price: given, isKnown: true };
  return planListPrice(model, report);
}

/** Prices of LiteLLM are in US dollars for one token, one image or one pixel. */
function givenPrice(
  kind: ModelKind,
  params: Parameters,
  info: JsonObject,
  report: SubjectReport,
): JsonObject | undefined {
  const take = (name: string): number | undefined => {
    const value = Number(params.take(name) ?? info[name] ?? Number.NaN);
    return value >= 0 ? value : undefined;
  };
  const perToken = take("input_cost_per_token");
  const perImage = take("output_cost_per_image") ?? take("input_cost_per_image");
  const perPixel = take("output_cost_per_pixel") ?? take("input_cost_per_pixel");
  const million = (value: number): number => Number((value * 1e6).toPrecision(12));
  if (kind === "embedding") {
    if (perToken === undefined) return undefined;
    report.carried("input_cost_per_token", `price.input: ${million(perToken)}`);
    return { input: million(perToken) };
  }
  if (perToken !== undefined)
    report.dropped("input_cost_per_token", "the price of images by tokens is Vexel's list price");
  if (perImage === undefined && perPixel === undefined) return undefined;
  report.carried("output_cost_per_image, output_cost_per_pixel", "price");
  return {
    ...(perImage !== undefined && { image: perImage }),
    ...(perPixel !== undefined && { megapixel: million(perPixel) }),
  };
}
