/** The overview: totals, charts, and conditions that need attention. */
import { z } from "zod";
import { translatableSchema } from "./error.ts";
import type { Infer } from "./infer.ts";
import { listBounds } from "./list-bounds.ts";
import { usageIntervalSchema, usageRowSchema, usageSumsSchema } from "./usage.ts";

const attentionItemSchema = z
  .strictObject({
    type: z.enum([
      "target_unhealthy",
      "budget_exhausted",
      "budget_nearly_exhausted",
      "key_expiring",
      "config_rejected",
      "ledger_unwritable",
      "model_ending",
      "webhook_failing",
    ]),
    severity: z.enum(["warning", "error"]),
    subject: z.string(),
    detail: z.string(),
    i18n: translatableSchema.optional().describe("Of `detail`. If absent, it is a time."),
    link: z.string().describe("A path of the console, such as `/upstreams`."),
  })
  .meta({
    id: "AttentionItem",
    description: "A condition that needs attention, and where it is fixed.",
  });
export type AttentionItem = Infer<typeof attentionItemSchema>;

const attentionGroupSchema = z
  .strictObject({
    type: attentionItemSchema.shape.type,
    severity: attentionItemSchema.shape.severity.describe("The highest severity of the items."),
    count: z.number(),
    items: z
      .array(attentionItemSchema)
      .describe("The first items: errors, such as dates that have passed, before warnings."),
  })
  .meta({ id: "AttentionGroup", description: "Conditions of one type that need attention." });
export type AttentionGroup = Infer<typeof attentionGroupSchema>;

const firstRunGuideSchema = z
  .strictObject({
    has_key: z.boolean(),
    has_request: z.boolean(),
    has_upstream: z.boolean(),
  })
  .meta({
    id: "FirstRunGuide",
    description: "The first steps with a new gateway, and which of them are done.",
  });
export type FirstRunGuide = Infer<typeof firstRunGuideSchema>;

export const overviewSchema = z
  .strictObject({
    object: z.literal("overview"),
    from: z.string(),
    to: z.string(),
    interval: usageIntervalSchema,
    totals: usageSumsSchema,
    series: z
      .array(usageRowSchema)
      .max(listBounds.points)
      .describe("One row per period with requests, the oldest first."),
    attention: z
      .array(attentionGroupSchema)
      .max(attentionItemSchema.shape.type.options.length)
      .describe("Groups with errors first."),
    guide: firstRunGuideSchema,
  })
  .meta({ id: "Overview" });
export type Overview = Infer<typeof overviewSchema>;
