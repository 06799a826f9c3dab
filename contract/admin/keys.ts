/** API keys. */
import { z } from "zod";
import { maxKeysAtOnce } from "../schemas/keys.ts";
import { budgetValueSchema, limitsValueSchema, originSchema } from "./entities.ts";
import type { Infer } from "./infer.ts";

export const apiKeySchema = z
  .strictObject({
    object: z.literal("api_key"),
    id: z.string(),
    name: z.string(),
    hint: z.string().nullable().describe("The first characters of the key."),
    origin: originSchema,
    project: z.string().nullable(),
    models: z.array(z.string()).describe("Globs over model ids."),
    limits: limitsValueSchema.nullable(),
    budget: budgetValueSchema.nullable(),
    locked: z
      .record(z.string(), z.union([z.number(), z.literal("refuse")]))
      .describe(
        "The limits and budgets that an administrator set, by field, such as `budget.day`. Developers may not raise or remove them.",
      ),
    priority: z
      .literal("batch")
      .nullable()
      .describe("`batch`: all of its requests are batch requests. `null`: the request decides."),
    show_cost: z
      .boolean()
      .describe("Its responses have the header `vexel-cost`. Only an administrator allows it."),
    parameters: z
      .enum(["adapt", "strict", "drop", "pass"])
      .nullable()
      .describe(
        "What happens to image parameters that a target does not support. `null`: the model decides.",
      ),
    defaults: z
      .strictObject({
        embedding: z.string().nullable(),
        image: z.string().nullable(),
      })
      .describe("The models of requests without `model`."),
    created_at: z.string().nullable(),
    created_by: z
      .string()
      .nullable()
      .describe("The user who created it. `null`: unknown, or not created by a user."),
    created_by_id: z.string().nullable().describe("The id of this user."),
    expires_at: z.string().nullable(),
    revoked_at: z.string().nullable(),
    state: z.enum(["active", "expiring", "expired", "revoked"]),
    version: z
      .number()
      .nullable()
      .describe("Grows with each change, for `if-match`. `null`: the key is not in the store."),
  })
  .meta({ id: "ApiKey", description: "An API key as lists show it: never the key itself." });
export type ApiKey = Infer<typeof apiKeySchema>;

/** Keys to look at: not used for 90 days, or with an end within a week. */
export const keyReviews = ["unused", "expiring"] as const;
export type KeyReview = (typeof keyReviews)[number];

export const keyUseSchema = z
  .strictObject({
    object: z.literal("key_use"),
    id: z.string(),
    requests: z.number().describe("Of the last 30 days."),
    charged: z
      .number()
      .describe("The cost and the estimated cost of the last 30 days, in US dollars."),
    used_within_days: z
      .union([z.literal(1), z.literal(7), z.literal(30)])
      .nullable()
      .describe("When it was last used. `null`: not in the last 30 days."),
  })
  .meta({ id: "KeyUse" });
export type KeyUse = Infer<typeof keyUseSchema>;

export const createdApiKeySchema = apiKeySchema.extend({ key: z.string() }).meta({
  id: "CreatedApiKey",
  description:
    "The response to the creation or rotation of a key: the only one that contains the key.",
});
export type CreatedApiKey = Infer<typeof createdApiKeySchema>;

export const createdApiKeysSchema = z
  .strictObject({
    object: z.literal("list"),
    data: z
      .array(z.strictObject({ id: z.string(), name: z.string(), key: z.string() }))
      .max(maxKeysAtOnce)
      .describe("In the order of the request."),
  })
  .meta({
    id: "CreatedApiKeys",
    description: "The response to the creation of several keys: the only one that contains them.",
  });
export type CreatedApiKeys = Infer<typeof createdApiKeysSchema>;
