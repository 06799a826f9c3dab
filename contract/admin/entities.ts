/** Entities that the API changes: upstreams, models, projects, webhooks. */

import { z } from "zod";
import { type Limits, limitNames } from "../limits-and-budgets.ts";
import { modelKinds } from "../model-kinds.ts";
import { batchExecutions, policyNames, webhookFormats } from "./constants.ts";
import { shownWebhookSchema } from "./events.ts";
import type { Infer } from "./infer.ts";
import { roleSchema } from "./users.ts";

export const originSchema = z
  .strictObject({
    source: z.enum(["yaml", "environment", "store", "built-in"]),
    location: z.string().nullable().describe("Such as `vexel.yaml line 12` or `OPENAI_API_KEY`."),
  })
  .meta({
    id: "Origin",
    description:
      "Where an entity is defined. Only entities of the store can be changed through the API.",
  });
export type Origin = Infer<typeof originSchema>;

export const entitySchema = <Value extends z.ZodType>(value: Value) =>
  z.strictObject({
    object: z.enum(["upstream", "model", "project", "webhook", "alert"]),
    id: z.string(),
    origin: originSchema,
    read_only: z.boolean(),
    version: z
      .number()
      .nullable()
      .describe(
        "For `if-match` of a change: a change that is based on an older version is refused. `null`: not in the store.",
      ),
    created_at: z.string().nullable(),
    updated_at: z.string().nullable(),
    problem: z
      .string()
      .nullable()
      .describe("Why an entity of the store is not in force. `null`: the entity is in force."),
    value: value.describe("The entry of vexel.yaml without its id."),
  });

export interface Entity<Value> extends Omit<Infer<ReturnType<typeof entitySchema>>, "value"> {
  readonly value: Value;
}

const secretValueSchema = z
  .strictObject({
    $secret: z.literal(true),
    lastFour: z
      .string()
      .exactOptional()
      .describe(
        "The last four characters. If absent, the secret is short, or is not one word of visible ASCII.",
      ),
  })
  .meta({
    id: "SecretValue",
    description:
      "The server sends it in place of a secret. In a change, the console sends it to keep the stored secret.",
  });
export type SecretValue = Infer<typeof secretValueSchema>;

const secretSchema = z.union([z.string(), secretValueSchema]).meta({
  id: "Secret",
  description: "The console sends a new secret as text. The server never sends a secret as text.",
});
export type Secret = Infer<typeof secretSchema>;

export const limitsValueSchema = z
  .strictObject(
    Object.fromEntries(limitNames.map((name) => [name, z.number().exactOptional()])) as Record<
      keyof Limits,
      z.ZodExactOptional<z.ZodNumber>
    >,
  )
  .meta({ id: "LimitsValue" });
export type LimitsValue = Infer<typeof limitsValueSchema>;

export const budgetValueSchema = z
  .strictObject({
    day: z.number().exactOptional(),
    month: z.number().exactOptional(),
    total: z.number().exactOptional(),
    unknownPrice: z.enum(["allow", "refuse"]).exactOptional(),
  })
  .meta({ id: "BudgetValue" });
export type BudgetValue = Infer<typeof budgetValueSchema>;

const upstreamValueSchema = z
  .looseObject({
    kind: z.string(),
    baseUrl: z.string().exactOptional(),
    apiKey: secretSchema.exactOptional(),
    headers: z.record(z.string(), secretSchema).exactOptional(),
    limits: limitsValueSchema.exactOptional(),
  })
  .meta({
    id: "UpstreamValue",
    description: "The same members as an upstream in vexel.yaml. Secrets are write-only.",
  });
export type UpstreamValue = Infer<typeof upstreamValueSchema>;

export const upstreamEntitySchema = entitySchema(upstreamValueSchema).meta({
  id: "UpstreamEntity",
});
export type UpstreamEntity = Infer<typeof upstreamEntitySchema>;

const targetValueSchema = z
  .looseObject({
    upstream: z.string(),
    model: z.string(),
    weight: z.number().exactOptional(),
    tier: z.number().exactOptional(),
    limits: limitsValueSchema.exactOptional(),
  })
  .meta({ id: "TargetValue" });

const modelValueSchema = z
  .looseObject({
    kind: z.enum(modelKinds),
    description: z.string().exactOptional(),
    targets: z.array(targetValueSchema),
    policy: z.enum(policyNames).exactOptional(),
    timeout: z.number().exactOptional(),
    limits: limitsValueSchema.exactOptional(),
    batches: z
      .enum(batchExecutions)
      .exactOptional()
      .describe("Where the lines of its batches run. Default: now."),
    storeContent: z
      .strictObject({ for: z.string() })
      .exactOptional()
      .describe(
        "Stores prompts, inputs, vectors and images of its requests for this time, such as `24h`.",
      ),
  })
  .meta({ id: "ModelValue", description: "The same members as a model in vexel.yaml." });
export type ModelValue = Infer<typeof modelValueSchema>;

export const modelEntitySchema = entitySchema(modelValueSchema).meta({ id: "ModelEntity" });
export type ModelEntity = Infer<typeof modelEntitySchema>;

const endUserOrTagLimitsValueSchema = z
  .strictObject({
    limits: limitsValueSchema.exactOptional(),
    budget: budgetValueSchema.omit({ total: true }).exactOptional(),
  })
  .meta({ id: "LabelLimitsValue" });
export type EndUserOrTagLimitsValue = Infer<typeof endUserOrTagLimitsValueSchema>;

const projectValueSchema = z
  .strictObject({
    limits: limitsValueSchema.exactOptional(),
    budget: budgetValueSchema.exactOptional(),
    perEndUser: endUserOrTagLimitsValueSchema
      .exactOptional()
      .describe("Limits and budgets of each end user that its requests name."),
    perTag: z
      .record(z.string(), endUserOrTagLimitsValueSchema)
      .exactOptional()
      .describe(
        "Limits and budgets of each tag of its requests, by tag or by pattern with `*` and `?`.",
      ),
    contact: z
      .string()
      .exactOptional()
      .describe(
        "An e-mail address: gets the budget alerts of the project, its keys and its tags. Requires VEXEL_SMTP_URL.",
      ),
    archived: z
      .boolean()
      .exactOptional()
      .describe("Its API keys are refused, and lists leave it out."),
  })
  .meta({ id: "ProjectValue", description: "The id of a project is its name." });
export type ProjectValue = Infer<typeof projectValueSchema>;

export const projectEntitySchema = entitySchema(projectValueSchema)
  .extend({
    keys: z.number().describe("The active keys of the project."),
    members: z
      .array(
        z.strictObject({
          id: z.string(),
          name: z.string(),
          role: roleSchema.describe("In this project."),
        }),
      )
      .describe(
        "The users that were assigned to it; users that see all projects are not among them. Empty unless an administrator or a lead of the project sends the request.",
      ),
  })
  .meta({ id: "ProjectEntity" });
export type ProjectEntity = Infer<typeof projectEntitySchema>;

const webhookValueSchema = z
  .strictObject({
    url: secretSchema,
    secret: secretSchema
      .exactOptional()
      .describe("Signs requests of the format `standard`. Other formats have none."),
    format: z
      .enum(webhookFormats)
      .exactOptional()
      .describe(
        "How events are written. The default is `standard`, or e-mail with a `mailto:` URL.",
      ),
    events: z
      .array(z.string())
      .exactOptional()
      .describe("Globs over event types. The default is all events."),
    name: z.string().exactOptional().describe("Of a webhook of the file."),
  })
  .meta({ id: "WebhookValue" });
export type WebhookValue = Infer<typeof webhookValueSchema>;

export const webhookEntitySchema = shownWebhookSchema
  .extend(entitySchema(webhookValueSchema).omit({ object: true, id: true }).shape)
  .extend({
    name: z
      .string()
      .nullable()
      .describe("By which alert rules name it. `null`: the file has none for it."),
  })
  .meta({
    id: "WebhookEntity",
    description:
      "A webhook with the state of its deliveries. A change of its URL changes its `id`, and not its `name`.",
  });
export type WebhookEntity = Infer<typeof webhookEntitySchema>;
