/** The values of the form of a model: the members of vexel.yaml, for both kinds. */

import { z } from "zod";
import type { ModelEntity } from "../../../../contract/admin.ts";
import { schemaText } from "../../../../contract/messages/schema-messages.ts";
import { type ModelKind, modelKinds } from "../../../../contract/model-kinds.ts";
import {
  embeddingMembers,
  imageMembers,
  imageTargetMembers,
  modelMembers,
  moderationMembers,
} from "../../../../contract/schemas/models.ts";
import { priceKeys } from "../../../../contract/schemas/prices.ts";
import { formatImagePrices, parseImagePrices } from "./image-prices.ts";

const dollars = z.number().min(0).max(100_000).optional();

/** The server checks which of them belong together. */
const price = z.looseObject({
  input: dollars,
  imageInput: dollars,
  image: dollars,
  megapixel: dollars,
  output: dollars,
  textOutput: dollars,
  images: z
    .string()
    .refine((text) => parseImagePrices(text) !== undefined, {
      error: schemaText("image_price_lines"),
    })
    .optional(),
});

/** Members that the form does not know are kept as they are. */
export const modelSchema = z.looseObject({
  ...modelMembers,
  ...embeddingMembers,
  ...imageMembers,
  kind: z.enum(modelKinds),
  targets: z.array(z.looseObject({ ...imageTargetMembers, price: price.optional() })).min(1),
  price: price.optional(),
  moderation: z.looseObject({ ...moderationMembers, price: price.optional() }).optional(),
});

type ModelValues = z.input<typeof modelSchema>;

const onlyOf: Readonly<Record<ModelKind, readonly string[]>> = {
  embedding: Object.keys(embeddingMembers),
  image: [...Object.keys(imageMembers), "moderation"],
};

/** Without the members of the other kind, which the form has if its kind was changed. */
export function membersOfKind(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const [kind, other]: [ModelKind, ModelKind] =
    values.kind === "image" ? ["image", "embedding"] : ["embedding", "image"];
  const entries = Object.entries(values).filter(([name]) => !onlyOf[other].includes(name));
  const { targets, price: own, ...members } = Object.fromEntries(entries);
  return {
    ...members,
    ...(own !== undefined && { price: pricesOf(kind, own) }),
    targets: (targets as Record<string, unknown>[]).map((target) => targetOfKind(kind, target)),
  };
}

function targetOfKind(
  kind: ModelKind,
  { surface, via, price: own, ...target }: Record<string, unknown>,
) {
  return {
    ...target,
    ...(own !== undefined && { price: pricesOf(kind, own) }),
    ...(kind === "image" && { surface, via }),
  };
}

/** Undefined if no price is left. */
function pricesOf(kind: ModelKind, own: unknown): unknown {
  const entries = Object.entries(own as object)
    .filter(([name, value]) => value !== undefined && priceKeys[kind].includes(name))
    .map(([name, value]) => [name, name === "images" ? parseImagePrices(String(value)) : value]);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

type Price = ModelValues["price"];

/** The values of the form for a price of vexel.yaml. */
const priceValues = (price: object | undefined): { price?: Price } => {
  if (!price) return {};
  const { images, ...amounts } = price as { images?: Record<string, number> };
  return { price: { ...amounts, ...(images && { images: formatImagePrices(images) }) } };
};

/** The values of the form for a model. */
export function valuesOf({ id, value }: ModelEntity): ModelValues {
  const { price, targets, ...members } = value as typeof value & { price?: object };
  return {
    ...members,
    id,
    ...priceValues(price),
    targets: targets.map((target) => ({
      ...target,
      ...priceValues((target as { price?: object }).price),
    })),
  };
}
