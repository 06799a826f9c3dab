/** Models and targets as the console shows them. */

import { z } from "zod";
import { modelKinds } from "../model-kinds.ts";
import { limitsValueSchema, modelEntitySchema, originSchema } from "./entities.ts";
import { translatableSchema } from "./error.ts";
import type { Infer } from "./infer.ts";
import { listBounds } from "./list-bounds.ts";

const pricePartSchema = z
  .strictObject({
    unit: z.enum([
      "million_tokens",
      "million_image_tokens",
      "image",
      "megapixel",
      "million_output_tokens",
    ]),
    from: z.number(),
    to: z.number(),
  })
  .meta({
    id: "PricePart",
    description: "US dollars. `from` and `to` differ if the price depends on the request.",
  });
export type PricePart = Infer<typeof pricePartSchema>;

const shownPriceSchema = z.strictObject({ parts: z.array(pricePartSchema) }).meta({
  id: "ShownPrice",
  description: "The parts are added up, such as a price per image and one per million tokens.",
});
export type ShownPrice = Infer<typeof shownPriceSchema>;

export const listedPriceSchema = z
  .strictObject({
    object: z.literal("listed_price"),
    price: z
      .record(z.string(), z.number())
      .nullable()
      .describe("US dollars, by the members of `price` in vexel.yaml. `null`: not in the list."),
    source: z.string().nullable().describe("Where the price was read, and when."),
  })
  .meta({ id: "ListedPrice" });
export type ListedPrice = Infer<typeof listedPriceSchema>;

const imageModelOptionsSchema = z
  .record(z.string(), z.union([z.array(z.string()), z.literal(true)]))
  .meta({ id: "ImageModelOptions", description: "The values of each option. `true`: any value." });
export type ImageModelOptions = Infer<typeof imageModelOptionsSchema>;

const shownEditsSchema = z
  .strictObject({
    options: imageModelOptionsSchema,
    max_images: z.number().describe("Reference images of one request."),
    mask: z.boolean().describe("At least one target edits only the masked area."),
  })
  .meta({ id: "ShownEdits" });
export type ShownEdits = Infer<typeof shownEditsSchema>;

export const shownTargetSchema = z
  .strictObject({
    object: z.literal("target"),
    upstream: z.string(),
    upstream_kind: z.string().describe("The kind of the upstream, such as `openai`."),
    model: z.string(),
    surface: z.string().nullable(),
    models: z.array(z.string()),
    state: z.enum(["healthy", "cooling", "half_open", "ejected"]),
    reason: z.string().nullable(),
    i18n: translatableSchema.optional().describe("Of `reason`."),
    until: z.string().nullable(),
    in_flight: z.number(),
    limit: z.number(),
    latency: z.array(
      z.strictObject({
        size: z.number(),
        mean_ms: z.number().nullable(),
        p95_ms: z.number().nullable(),
      }),
    ),
    counts: z.record(z.string(), z.number()),
    last_errors: z
      .array(
        z.strictObject({
          at: z.string(),
          error: z.string().describe("An error kind."),
          message: z.string(),
        }),
      )
      .describe("The latest errors of its attempts, newest first."),
  })
  .meta({ id: "ShownTarget" });
export type ShownTarget = Infer<typeof shownTargetSchema>;

/** Without the models that share it, which may be thousands. */
const modelTargetSchema = shownTargetSchema.omit({ models: true }).meta({ id: "ModelTarget" });
export type ModelTarget = Infer<typeof modelTargetSchema>;

export const shownModelSchema = z
  .strictObject({
    object: z.literal("model"),
    id: z.string(),
    kind: z.enum(modelKinds),
    description: z.string().nullable(),
    owned_by: z.string(),
    origin: originSchema,
    dimensions: z.number().nullable(),
    context_tokens: z.number().nullable(),
    reads_images: z
      .union([z.boolean(), z.literal("assumed")])
      .describe(
        "Embedding models: inputs may have images. `assumed`: another Vexel decides, and may refuse them.",
      ),
    vector_space: z
      .string()
      .nullable()
      .describe("Models with the same vector space give comparable vectors."),
    prices: z
      .array(shownPriceSchema)
      .describe("One for each different price of its targets. Empty: unknown."),
    ends_on: z.string().nullable(),
    limits: limitsValueSchema.nullable(),
    stores_content: z
      .boolean()
      .describe("Prompts, inputs, vectors and images of its requests are stored for a time."),
    options: imageModelOptionsSchema.describe(
      "Image models: the options that at least one target supports, with their values.",
    ),
    edits: shownEditsSchema
      .nullable()
      .describe("Image models: the options and limits of edits. `null`: no target edits images."),
    targets: z.array(modelTargetSchema),
  })
  .meta({ id: "ShownModel" });
export type ShownModel = Infer<typeof shownModelSchema>;

export const modelAccessSchema = z
  .strictObject({
    object: z.literal("model_access"),
    model: z.string(),
    key_count: z
      .number()
      .describe("The number of all such keys, also if `keys` does not list all of them."),
    keys: z
      .array(
        z.strictObject({
          id: z.string(),
          name: z.string(),
          project: z.string().nullable(),
        }),
      )
      .max(listBounds.accessKeys),
  })
  .meta({
    id: "ModelAccess",
    description: "The API keys that may use a model, of the projects that the user sees.",
  });
export type ModelAccess = Infer<typeof modelAccessSchema>;

export const imageEstimateSchema = z
  .strictObject({
    object: z.literal("image_estimate"),
    cost: z
      .number()
      .nullable()
      .describe("The likely cost in US dollars. `null`: no price is known."),
    max_cost: z.number().nullable().describe("The upper bound in US dollars."),
    is_certain: z.boolean().describe("Every target has a known price."),
    refusal: z
      .string()
      .nullable()
      .describe(
        "Why the gateway would refuse this request, in place of a price. `null`: it would not.",
      ),
  })
  .meta({
    id: "ImageEstimate",
    description: "Estimated for the most expensive target, because the target is not selected yet.",
  });
export type ImageEstimate = Infer<typeof imageEstimateSchema>;

export const modelDetailSchema = shownModelSchema.extend({ definition: modelEntitySchema }).meta({
  id: "ModelDetail",
  description: "One model: what it is, and the entity that defines it.",
});
export type ModelDetail = Infer<typeof modelDetailSchema>;

/** Requests the estimated cost of an image request. Nothing is sent to an upstream. */
export interface ImageEstimateRequest {
  readonly model: string;
  readonly prompt: string;
  /** As the images API expects them. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The number of reference images. Above 0, the request is an edit. */
  readonly references: number;
  readonly mask: boolean;
}
