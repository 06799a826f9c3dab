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
    errors: z.number().describe("Requests that ended with an error: refused and failed ones."),
    refused: z
      .number()
      .describe(
        "Those of `errors` that the gateway refused before any upstream request, by the parameters, permissions, limits or budget of the request. The others failed.",
      ),
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
        "A `target` is named like `openai/text-embedding-3-small`, and the `status` of a request without an error is `ok`. `(other)`: all groups below the largest ones. `null`: the requests had no such value. A request with several tags is in the group of each, and of `(other)` for each tag there.",
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
