/** Alert rules with their state. */
import { z } from "zod";
import { alertMetrics } from "./constants.ts";
import { entitySchema } from "./entities.ts";
import type { Infer } from "./infer.ts";
import { maxAlertValues } from "./list-bounds.ts";

const alertValueSchema = z
  .strictObject({
    metric: z.enum(alertMetrics),
    above: z
      .number()
      .describe("Percent of requests, milliseconds, US dollars, or a number of targets."),
    minutes: z.number().exactOptional().describe("The window. The default is 15."),
    minRequests: z
      .number()
      .exactOptional()
      .describe("With fewer requests, error rate and latency are not judged. The default is 20."),
    model: z.string().exactOptional(),
    project: z.string().exactOptional(),
    upstream: z.string().exactOptional(),
    receivers: z
      .array(z.string())
      .exactOptional()
      .describe("The names of webhooks. The default is those that subscribe to alerts."),
  })
  .meta({ id: "AlertValue", description: "The id of an alert is its name." });
export type AlertValue = Infer<typeof alertValueSchema>;

export const alertEntitySchema = entitySchema(alertValueSchema)
  .extend({
    state: z.enum(["ok", "firing"]),
    changed_at: z
      .string()
      .nullable()
      .describe("When it began to fire, or was resolved. `null`: it has never fired."),
    last_value: z.number().nullable().describe("The value at that time."),
    current_value: z
      .number()
      .nullable()
      .describe("`null`: too few requests to judge, or not measured yet."),
    measured_at: z.string().nullable(),
    silence: z
      .strictObject({ until: z.string(), reason: z.string(), by: z.string() })
      .nullable()
      .describe("Until then, no webhook gets the events of the alert."),
  })
  .meta({ id: "AlertEntity" });
export type AlertEntity = Infer<typeof alertEntitySchema>;

export const alertValuesSchema = z
  .strictObject({
    object: z.literal("alert.values"),
    above: z.number(),
    data: z
      .array(z.strictObject({ at: z.string(), value: z.number().nullable() }))
      .max(maxAlertValues)
      .describe("Oldest first, over about four windows. `null`: too few requests to judge."),
  })
  .meta({ id: "AlertValues", description: "The latest values of an alert rule." });
export type AlertValues = Infer<typeof alertValuesSchema>;
