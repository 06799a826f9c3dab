/** `limits` and `budget` of vexel.yaml, of the admin API and of the forms of the console. */
import { z } from "zod";
import { type RateName, rateLimits } from "../limits-and-budgets.ts";
import { schemaText } from "../messages/schema-messages.ts";
import { boundedRecord } from "./bounded-record.ts";

const whole = z.int().min(1).max(1_000_000_000);
// The upper bound keeps the counts exact.
const millions = z.number().min(0.001).max(100_000);

const perMinute = Object.fromEntries(
  rateLimits.map(({ name, unit }) => [
    `${name}PerMinute`,
    (unit === 1 ? whole : millions).optional(),
  ]),
) as Record<`${RateName}PerMinute`, z.ZodOptional<z.ZodNumber>>;

export const limits = z.strictObject({
  ...perMinute,
  concurrent: z.int().min(1).max(1_000_000).optional(),
});

const dollars = z.number().min(0).max(1_000_000_000);

/** In US dollars; days and months in UTC. */
export const budget = z.strictObject({
  day: dollars.optional(),
  month: dollars.optional(),
  total: dollars.optional(),
  /** Whether requests without a known price are allowed. */
  unknownPrice: z.enum(["allow", "refuse"]).default("allow"),
});

/**
 * Of each end user, or of each tag. Their number is not bounded, so what they have spent in earlier periods is deleted,
 * and a budget in total would have to start again.
 */
export const endUserOrTagLimits = z.strictObject({
  limits: limits.optional(),
  budget: budget.omit({ total: true }).optional(),
});

const maxTagPatterns = 100;
export const tagPattern = z
  .string()
  .max(100)
  .regex(/^[\w.:/@=+*? -]+$/, schemaText("tag_pattern"));

/** Limits and budgets by tag or pattern. */
export const tagLimits = boundedRecord(tagPattern, endUserOrTagLimits, maxTagPatterns);

/** Budgets by tag or pattern. */
export const tagBudgets = boundedRecord(
  tagPattern,
  endUserOrTagLimits.pick({ budget: true }),
  maxTagPatterns,
);
