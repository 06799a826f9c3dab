/** /listed-price: the vendor's list price of a model at an upstream, which the form of a model shows. */

import { z } from "zod";
import { listedPriceSchema } from "../../../contract/admin/models.ts";
import type { ListedPrice } from "../../../contract/admin.ts";
import { modelKinds } from "../../../contract/model-kinds.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import { priceSources } from "../../upstream/catalog/price-sources.ts";
import {
  imagePriceRow,
  listedImagePrice,
  withEmbeddingPrices,
} from "../../upstream/catalog/prices/model-price.ts";
import type { Target } from "../../upstream/contract.ts";
import type { Price } from "../../upstream/price.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { readQuery } from "../read-query.ts";

const query = z.object({
  kind: z.enum(modelKinds).describe("The kind of the model."),
  upstream: z.string().max(200).describe("The id of the upstream."),
  model: z.string().max(500).describe("The model's name at the upstream."),
});

export function listedPriceRoutes(snapshot: () => Snapshot): readonly AdminRoute[] {
  const show = async (context: AdminApiContext): Promise<Response> => {
    const { kind, upstream: id, model } = readQuery(context, query);
    const upstream = snapshot().upstreams.get(id);
    const found = upstream && (kind === "image" ? ofImages : ofEmbeddings)({ upstream, model });
    const price = found?.price ?? null;
    const shown: ListedPrice = {
      object: "listed_price",
      price,
      source: price && (found?.source ?? null),
    };
    return context.json(shown);
  };
  return [
    {
      method: "GET",
      path: "/listed-price",
      needs: "view",
      scope: "gateway",
      summary: "Show the vendor's list price of a model at an upstream, with its source.",
      query,
      response: listedPriceSchema,
      handle: show,
    },
  ];
}

interface Found {
  /** Undefined if not in the list. */
  readonly price: Record<string, number> | undefined;
  readonly source: string | undefined;
}

function ofEmbeddings(target: Target): Found {
  const { tokenPrice, imageInputPrice } = withEmbeddingPrices(target);
  const listed = priceSources[target.upstream.kind];
  return {
    price: members({
      input: tokenPrice,
      imageInput: imageInputPrice?.tokens,
      image: imageInputPrice?.image,
      megapixel: imageInputPrice?.megapixel,
    }),
    source: listed && `${listed.source}, ${listed.on}`,
  };
}

function ofImages(target: Target): Found {
  const price = listedImagePrice(target, { operation: "generations", extraFields: {} });
  return { price: price && imageMembers(price), source: imagePriceRow(target)?.source };
}

/** A price by quality and size is shown by its most expensive image. */
const imageMembers = ({ tokens, images, megapixel }: Price) =>
  members({
    image: images && Math.max(...Object.values(images)),
    megapixel,
    input: tokens?.textIn,
    imageInput: tokens?.imageIn,
    output: tokens?.imageOut,
    textOutput: tokens?.textOut,
  });

/** Undefined if every member is. */
function members(given: Readonly<Record<string, number | undefined>>) {
  const known = Object.entries(given).filter(
    (entry): entry is [string, number] => entry[1] !== undefined,
  );
  return known.length === 0 ? undefined : Object.fromEntries(known);
}
