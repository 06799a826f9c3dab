/** Statements: what a project cost in a closed month. */
import { z } from "zod";
import type { Infer } from "./infer.ts";

export const statementSchema = z
  .strictObject({
    object: z.literal("statement"),
    project: z.string(),
    month: z.string().describe("Such as `2026-10`, in UTC."),
    created_at: z.string().describe("When it was written. It is never changed afterwards."),
    requests: z.number(),
    requests_without_cost: z
      .number()
      .describe("Successful requests with neither a cost nor an estimate: no price is known."),
    cost: z.number(),
    estimated_cost: z
      .number()
      .describe("What was or may have been billed besides `cost`, by estimate."),
    charged: z.number().describe("`cost` plus `estimated_cost`, as budgets are charged."),
  })
  .meta({ id: "Statement" });
export type Statement = Infer<typeof statementSchema>;
