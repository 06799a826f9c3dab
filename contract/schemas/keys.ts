/** API keys and projects: the entries of vexel.yaml, and the bodies of the admin API. */
import { z } from "zod";
import { schemaText } from "../messages/schema-messages.ts";
import { budget, endUserOrTagLimits, limits, tagBudgets, tagLimits } from "./limits.ts";
import { id, mailAddress, name, secret } from "./names.ts";

/** How options that a target does not support are handled. */
export const parameters = z.enum(["adapt", "strict", "drop", "pass"]);

/** The models of requests without `model`. */
export const defaults = z.strictObject({ embedding: id.optional(), image: id.optional() });

const isPattern = (model: string): boolean => /[*?]/.test(model);
/** Patterns are compared one by one with the ids of all models. */
const maxPatterns = 100;
/** A page of the admin API has the lists of 200 keys. */
const maxModelCharacters = 16_000;

/** Ids of models, and patterns with `*` and `?`. */
const models = z
  .array(id)
  .min(1)
  .max(1000)
  .refine(
    (list) => list.filter(isPattern).length <= maxPatterns,
    schemaText("max_patterns", { max: maxPatterns }),
  )
  .refine(
    (list) => list.reduce((sum, { length }) => sum + length, 0) <= maxModelCharacters,
    schemaText("max_model_characters", { max: maxModelCharacters }),
  );

/** A key without its secret, which the gateway generates for keys of the admin API. */
export const keyBody = z.strictObject({
  name,
  models: models.default(["*"]),
  /** Default models of this key. They override the top-level defaults. */
  defaults: defaults.optional(),
  /** For image requests with this key. Overrides `parameters` of the model. */
  parameters: parameters.optional(),
  /** All requests with this key are batch requests. If absent, the request decides. */
  priority: z.enum(["batch"]).optional(),
  /** Its responses have the header `vexel-cost`, whatever the model says. */
  showCost: z.boolean().optional(),
  project: name.optional(),
  limits: limits.optional(),
  budget: budget.optional(),
  /** When the key stops working: a date, from midnight UTC, or a time. */
  expires: z
    .union([z.iso.date(), z.iso.datetime({ offset: true }).max(40)], schemaText("date_or_time"))
    .optional(),
});

/** The most keys that one request creates. */
export const maxKeysAtOnce = 1000;

export const keysBody = z.strictObject({
  keys: z.array(keyBody).min(1).max(maxKeysAtOnce).describe("As in the creation of one key."),
});

const minKeyLength = 16;

export const key = keyBody.extend({ key: secret.min(minKeyLength) });

/** An old key works this long beside the new one, unless the request says otherwise. */
const defaultOverlapHours = 24;
const maxOverlapHours = 30 * 24;

export const rotationBody = z.strictObject({
  overlapHours: z
    .number()
    .min(0)
    .max(maxOverlapHours)
    .default(defaultOverlapHours)
    .describe("How long the old key still works. 0: it is revoked at once."),
});

/** A group of keys that share limits and a budget, with limits and budgets of their end users and tags. */
export const project = z.strictObject({
  name,
  limits: limits.optional(),
  budget: budget.optional(),
  /** Of each end user that its requests name. */
  perEndUser: endUserOrTagLimits.optional(),
  /** Of each tag of its requests. */
  perTag: tagLimits.optional(),
  /** Gets the budget alerts of the project, its keys and its tags by e-mail. */
  contact: mailAddress.optional(),
  /** Its API keys are refused, and lists leave it out. */
  archived: z.boolean().optional(),
});

/** The budgets of a project, without its limits. A budget that is absent is removed. */
export const budgetsBody = z.strictObject({
  budget: budget.optional(),
  perEndUser: endUserOrTagLimits.pick({ budget: true }).optional(),
  perTag: tagBudgets.optional(),
});
export type BudgetsBody = z.output<typeof budgetsBody>;

export const membersBody = z.strictObject({ users: z.array(z.string().max(200)).max(10_000) });
