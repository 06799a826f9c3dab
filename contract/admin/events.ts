/** Events and webhooks. */
import { z } from "zod";
import type { Infer } from "./infer.ts";

export const shownEventSchema = z
  .strictObject({
    object: z.literal("event"),
    id: z.string(),
    type: z.string(),
    timestamp: z.string(),
    data: z.record(z.string(), z.unknown()),
    deliveries: z.array(
      z.strictObject({
        webhook: z.string(),
        state: z.enum(["waiting", "delivered", "abandoned"]),
        attempts: z.number(),
        last_attempt_at: z.string().nullable(),
        next_attempt_at: z.string().nullable(),
        status: z.number().nullable(),
        problem: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: "ShownEvent" });
export type ShownEvent = Infer<typeof shownEventSchema>;

export const shownWebhookSchema = z
  .strictObject({
    object: z.literal("webhook"),
    id: z.string(),
    url: z
      .string()
      .describe(
        "Without its query string, which often contains a token. Roles below `admin` see no path either.",
      ),
    format: z.enum(["standard", "slack", "teams", "email"]),
    events: z.array(z.string()),
    state: z.enum(["active", "gone"]),
    waiting: z.number(),
    delivered: z.number(),
    abandoned: z.number(),
    consecutive_failures: z.number(),
    last_attempt: z
      .strictObject({
        event: z.string(),
        at: z.string(),
        delivered: z.boolean(),
        status: z.number().nullable(),
        problem: z.string().nullable(),
      })
      .nullable(),
  })
  .meta({ id: "ShownWebhook" });
export type ShownWebhook = Infer<typeof shownWebhookSchema>;

export const webhookTestSchema = z
  .strictObject({
    object: z.literal("webhook.test"),
    webhook: z.string(),
    event: z.string(),
    delivered: z.boolean(),
    status: z.number().nullable(),
    problem: z.string().nullable(),
    duration_ms: z.number(),
  })
  .meta({ id: "WebhookTest", description: "The result of a test event. It is not recorded." });
export type WebhookTest = Infer<typeof webhookTestSchema>;
