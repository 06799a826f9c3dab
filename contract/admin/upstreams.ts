/** Kinds of upstreams with the fields of their forms, and connection tests. */

import { z } from "zod";
import { modelKinds } from "../model-kinds.ts";
import { connectionSteps } from "./constants.ts";
import { translatableSchema } from "./error.ts";
import type { Infer } from "./infer.ts";

const formFieldSchema = z
  .strictObject({
    name: z.string(),
    type: z
      .enum(["text", "lines", "url", "number", "boolean", "choice", "pairs"])
      .describe("`lines`: text with line breaks. `pairs`: an object of names and texts."),
    required: z.boolean(),
    secret: z.boolean().describe("Write-only, encrypted in the store."),
    default: z
      .union([z.string(), z.number(), z.boolean()])
      .nullable()
      .describe(
        "The value that applies if the field is absent. `null`: no value, or it depends on the upstream.",
      ),
    description: z.string(),
    choices: z.array(z.string()).nullable(),
  })
  .meta({ id: "FormField" });
export type FormField = Infer<typeof formFieldSchema>;

export const upstreamKindSchema = z
  .strictObject({
    object: z.literal("upstream_kind"),
    kind: z.string(),
    title: z.string().describe("The vendor's or the server's name."),
    serves: z
      .enum(modelKinds)
      .nullable()
      .describe("The only kind of model it serves. `null`: both."),
    fields: z.array(formFieldSchema),
    needs_one_of: z
      .array(z.array(z.string()))
      .nullable()
      .describe("At least one of these sets of fields must be complete. `null`: no choice."),
  })
  .meta({ id: "UpstreamKind", description: "A kind of upstream, with the fields of its form." });
export type UpstreamKind = Infer<typeof upstreamKindSchema>;

const connectionStepNameSchema = z.enum(connectionSteps).meta({ id: "ConnectionStepName" });
export type ConnectionStepName = Infer<typeof connectionStepNameSchema>;

const connectionStepSchema = z
  .strictObject({
    step: connectionStepNameSchema,
    result: z
      .enum(["passed", "failed", "skipped", "unknown"])
      .describe(
        "`skipped`: an earlier step failed, or the step does not apply. `unknown`: the server has no list of models at this address, so the base URL may be wrong.",
      ),
    detail: z.string().describe("What was found, in words."),
    i18n: translatableSchema.optional(),
    duration_ms: z.number().nullable(),
  })
  .meta({ id: "ConnectionStep" });
export type ConnectionStep = Infer<typeof connectionStepSchema>;

const discoveredModelSchema = z
  .strictObject({
    id: z.string().describe("The upstream's name of the model."),
    kind: z.enum(modelKinds).nullable().describe("`null`: unknown."),
  })
  .meta({ id: "DiscoveredModel" });
export type DiscoveredModel = Infer<typeof discoveredModelSchema>;

export const connectionTestSchema = z
  .strictObject({
    object: z.literal("connection_test"),
    steps: z.array(connectionStepSchema),
    reachable: z.boolean().describe("An HTTP response arrived."),
    credential: z
      .enum(["accepted", "refused", "unverified", "none"])
      .describe(
        "`unverified`: the vendor has no request that checks a credential without cost; a test with `mayCost` does. `none`: the upstream has no credential.",
      ),
    duration_ms: z.number(),
    problem: z.string().nullable().describe("The first problem. `null`: none."),
    models: z
      .array(discoveredModelSchema)
      .nullable()
      .describe("`null`: the vendor does not list its models."),
    may_have_cost: z.boolean().describe("A request was sent that the vendor may bill."),
  })
  .meta({
    id: "ConnectionTest",
    description:
      "The result of a connection test. Without `mayCost` it sends no request that costs money.",
  });
export type ConnectionTest = Infer<typeof connectionTestSchema>;
