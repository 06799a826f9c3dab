/**
 * The price of a target: the price of the entry, or else the list price of the vendor that the entry names. LiteLLM
 * counts by the name of the model also if another server answers at `api_base`, and budgets need a price.
 */
import type { JsonObject } from "../../../server/storage/ports/config-entity-store.ts";
import {
  listedImagePrice,
  withEmbeddingPrices,
} from "../../../server/upstream/catalog/prices/model-price.ts";
import type { Target } from "../../../server/upstream/contract.ts";
import { kinds } from "../../../server/upstream/kinds.ts";
import type { Price } from "../../../server/upstream/price.ts";
import type { SubjectReport } from "../report.ts";
import type { Parameters } from "./plan-upstream.ts";

export type ModelKind = "embedding" | "image";

interface PricedModel {
  readonly kind: ModelKind;
  readonly name: string;
  /** What the operator says the deployment is. */
  readonly baseModel: string | undefined;
  /** The kind of the upstream, and the kind of LiteLLM's provider. */
  readonly upstreamKind: string;
  readonly providerKind: string;
}

interface PlannedPrice {
  /** Absent: the list price of the upstream's kind applies, or none is known. */
  readonly price?: JsonObject;
  readonly isKnown: boolean;
}

export function planPrice(
  model: PricedModel,
  params: Parameters,
  info: JsonObject,
  report: SubjectReport,
): PlannedPrice {
  const given = givenPrice(model.kind, params, info, report);
  if (given) return { price: given, isKnown: true };
  if (listPrice(model.kind, model.upstreamKind, model.name)) return { isKnown: true };
  const kindsToTry = [...new Set([model.upstreamKind, model.providerKind, "openai"])];
  const names = [model.name, ...(model.baseModel?.split("/").slice(-1) ?? [])];
  for (const kind of kindsToTry)
    for (const name of names) {
      const price = listPrice(model.kind, kind, name);
      if (!price) continue;
      report.approximated(
        "price",
        `the list price of ${name} at ${kind}: ${JSON.stringify(price)}`,
      );
      return { price, isKnown: true };
    }
  report.dropped("price", "not known, so the cost of its requests is not counted: set price");
  return { isKnown: false };
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

/** `price` of vexel.yaml. Undefined: the kind has no list price of the model. */
function listPrice(kind: ModelKind, upstreamKind: string, model: string): JsonObject | undefined {
  const baseUrl = kinds.get(upstreamKind)?.baseUrl;
  const target: Target = {
    upstream: {
      id: upstreamKind,
      kind: upstreamKind,
      headers: {},
      options: {},
      ...(baseUrl !== undefined && { baseUrl }),
    },
    model,
  };
  if (kind === "embedding") return embeddingPrice(withEmbeddingPrices(target));
  const price = listedImagePrice(target, { operation: "generations", extraFields: {} });
  return price && imagePrice(price);
}

function embeddingPrice({ tokenPrice, imageInputPrice }: Target): JsonObject | undefined {
  if (tokenPrice === undefined) return undefined;
  const { tokens, ...others } = imageInputPrice ?? {};
  return { input: tokenPrice, ...(tokens !== undefined && { imageInput: tokens }), ...others };
}

/** Undefined: vexel.yaml cannot express the price of the tokens. */
function imagePrice({ tokens, images, megapixel }: Price): JsonObject | undefined {
  const { textIn: input, imageIn, textOut, imageOut: output } = tokens ?? {};
  if (tokens && (input === undefined || output === undefined)) return undefined;
  return {
    ...(images && { images }),
    ...(megapixel !== undefined && { megapixel }),
    ...(tokens && { input, output }),
    ...(imageIn !== undefined && { imageInput: imageIn }),
    ...(textOut !== undefined && { textOutput: textOut }),
  };
}
