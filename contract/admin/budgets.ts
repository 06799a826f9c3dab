/** Budgets and limits with their use. */
import { z } from "zod";
import { rateLimits } from "../limits-and-budgets.ts";
import type { Infer } from "./infer.ts";

export const shownBudgetSchema = z
  .strictObject({
    object: z.literal("budget"),
    scope: z.enum(["key", "project", "end_user", "tag"]),
    id: z.string(),
    name: z.string(),
    project: z.string().nullable(),
    period: z.enum(["day", "month", "total"]),
    limit: z.number(),
    spent: z.number(),
    reserved: z.number().describe("Reserved for requests in flight."),
    left: z.number(),
    resets_at: z.string().nullable().describe("`null`: a total budget, which never resets."),
  })
  .meta({
    id: "ShownBudget",
    description: "One budget of a key, project, end user or tag in one period. US dollars.",
  });
export type ShownBudget = Infer<typeof shownBudgetSchema>;

export const shownLimitSchema = z
  .strictObject({
    object: z.literal("limit"),
    scope: z.enum(["key", "project", "model", "end_user", "tag"]),
    id: z.string(),
    name: z.string(),
    project: z.string().nullable(),
    rate: z
      .enum([...rateLimits.map(({ name }) => name), "concurrent"])
      .describe("`concurrent`: requests at the same time. The others are per minute."),
    limit: z.number(),
    used: z.number(),
    left: z.number(),
    resets_at: z
      .string()
      .nullable()
      .describe("When the whole limit is available again. `null`: now, or when requests end."),
    queued: z
      .number()
      .describe("Requests of the replica that responds that wait for a concurrency slot."),
  })
  .meta({ id: "ShownLimit", description: "One limit of a key, project, model, end user or tag." });
export type ShownLimit = Infer<typeof shownLimitSchema>;
