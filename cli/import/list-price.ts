/**
 * List prices of vendors for imported models. Other gateways count by the name of a model, also if another server
 * answers at its address, and budgets need a price.
 */
import type { ModelKind } from "../../contract/model-kinds.ts";
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";
import {
  listedImagePrice,
  withEmbeddingPrices,
} from "../../server/upstream/catalog/prices/model-price.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { kinds } from "../../server/upstream/kinds.ts";
import type { Price } from "../../server/upstream/price.ts";
import type { SubjectReport } from "./report.ts";

export interface PricedModel {
  readonly kind: ModelKind;
  readonly name: string;
  /** What the operator says the deployment is. */
  readonly baseModel: string | undefined;
  /** The kind of the upstream, and the kind of the vendor that the other gateway names. */
  readonly upstreamKind: string;
  readonly providerKind: string;
}

export interface PlannedPrice {
  /** If absent, the list price of the upstream's kind applies, or none is known. */
  readonly price?: JsonObject;
  readonly isKnown: boolean;
}

export function planListPrice(model: PricedModel, report: SubjectReport): PlannedPrice {
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
  report.dropped(
    "price",
    `not known for ${model.name}, so the cost of its requests is not counted: set price`,
  );
  return { isKnown: false };
}

/** `price` of vexel.yaml. Undefined if the kind has no list price of the model. */
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

/** Undefined if vexel.yaml cannot express the price of the tokens. */
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
