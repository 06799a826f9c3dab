/** The schemas of all responses, for the OpenAPI document. Tests validate real responses against them. */

import { z } from "zod";
import { modelKinds } from "../../contract/model-kinds.ts";
import { maxModels } from "../../contract/schemas/models.ts";

const tokens = z.int().min(0);

export const embeddingsResponse = z.object({
  object: z.literal("list"),
  data: z.array(
    z.object({
      object: z.literal("embedding"),
      index: z.int().min(0),
      embedding: z
        .union([z.array(z.number()), z.string()])
        .describe(
          "An array of numbers, or with `encoding_format: base64` a base64 string of little-endian float32 values. Quantized vectors are always arrays of integers.",
        ),
    }),
  ),
  model: z.string(),
  usage: z
    .object({
      prompt_tokens: tokens,
      total_tokens: tokens,
      prompt_tokens_details: z
        .object({ text_tokens: tokens, image_tokens: tokens })
        .optional()
        .describe("Of a request with images, if the upstream reports it."),
    })
    .describe(
      "As reported by the upstream, or an estimate, which the header `vexel-usage: estimated` marks.",
    ),
});

const imageUsage = z.looseObject({
  total_tokens: tokens,
  input_tokens: tokens,
  output_tokens: tokens,
});

export const imagesResponse = z.looseObject({
  created: z.int().describe("Unix seconds."),
  data: z.array(
    z.looseObject({
      b64_json: z.string().optional(),
      url: z.string().optional(),
      revised_prompt: z.string().optional(),
    }),
  ),
  size: z.string().optional(),
  quality: z.string().optional(),
  background: z.string().optional(),
  output_format: z.string().optional(),
  usage: imageUsage.optional(),
});

const day = z.string().regex(/^\d{4}-\d\d-\d\d$/);

export const modelResponse = z.looseObject({
  id: z.string(),
  object: z.literal("model"),
  created: z.int(),
  owned_by: z.string(),
  kind: z.enum(modelKinds),
  input_modalities: z
    .array(z.enum(["text", "image"]))
    .optional()
    .describe("Embedding models that read images."),
  ends_on: day.optional().describe("The day from which no upstream serves the model."),
  shutdown_date: day.optional().describe("The same day, under OpenAI's name."),
});

export const engineResponse = z.object({
  id: z.string(),
  object: z.literal("engine"),
  owner: z.string(),
  ready: z.boolean(),
});
export const enginesResponse = z.object({
  object: z.literal("list"),
  data: z.array(engineResponse).max(maxModels),
});
export const modelsResponse = z.object({
  object: z.literal("list"),
  data: z.array(modelResponse).max(maxModels),
});

export const errorResponse = z.object({
  error: z.looseObject({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

export const statusResponse = z.looseObject({ status: z.string() });
