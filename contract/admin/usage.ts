/** Usage by hour, day or month. */
import { z } from "zod";
import { usageDimensions, usageIntervals } from "./constants.ts";
import type { Infer } from "./infer.ts";
import { listBounds } from "./list-bounds.ts";
import { pageSchema } from "./page.ts";

export const usageIntervalSchema = z.enum(usageIntervals).meta({ id: "UsageInterval" });
export type UsageInterval = Infer<typeof usageIntervalSchema>;

export const usageSumsSchema = z
  .strictObject({
    requests: z.number(),
    errors: z.number(),
    input_tokens: z.number(),
    output_tokens: z.number(),
    images: z.number(),
    inputs: z
      .number()
      .describe(
        "Inputs of embeddings requests, and how many of them were not sent to an upstream.",
      ),
    cached_inputs: z.number(),
    cost: z.number(),
    requests_without_cost: z
      .number()
      .describe("Successful requests with neither a cost nor an estimate: no price is known."),
    estimated_cost: z
      .number()
      .describe("What was or may have been billed besides `cost`, by estimate."),
    charged: z.number().describe("`cost` plus `estimated_cost`, as budgets are charged."),
    latency_p50_ms: z.number().nullable().describe("Interpolated in a histogram."),
    latency_p95_ms: z.number().nullable(),
    latency_p99_ms: z.number().nullable(),
  })
  .meta({ id: "UsageSums" });
export type UsageSums = Infer<typeof usageSumsSchema>;

export const usageRowSchema = usageSumsSchema
  .extend({
    object: z.literal("usage"),
    start: z.string().describe("The start of the period."),
    group: z
      .partialRecord(z.enum(usageDimensions), z.string().nullable())
      .describe(
        "A `target` is named like `openai/text-embedding-3-small`, and the `status` of a request without an error is `ok`. `(other)`: all groups below the largest ones. `null`: the requests had no such value.",
      ),
    key_name: z
      .string()
      .nullable()
      .describe("The name of the key or user in `group`, if it is known."),
  })
  .meta({
    id: "UsageRow",
    description:
      "Usage of one period, for one combination of the dimensions that the query groups by.",
  });
export type UsageRow = Infer<typeof usageRowSchema>;

export const usagePageSchema = pageSchema(usageRowSchema, listBounds.usage)
  .extend({
    has_more: z
      .boolean()
      .describe(
        "There are more rows. Choose a shorter time, a longer interval, or fewer dimensions.",
      ),
  })
  .meta({ id: "UsagePage" });
export type UsagePage = Infer<typeof usagePageSchema>;
