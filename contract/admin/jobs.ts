/** Jobs: batches and image jobs of clients. */
import { z } from "zod";
import { batchExecutions } from "./constants.ts";
import type { Infer } from "./infer.ts";

export const shownJobSchema = z
  .strictObject({
    object: z.literal("job"),
    id: z.string(),
    kind: z.enum(["batch", "image"]),
    endpoint: z.string().describe("The endpoint of its lines, such as `/v1/embeddings`."),
    status: z
      .enum([
        "validating",
        "queued",
        "in_progress",
        "paused",
        "finalizing",
        "cancelling",
        "completed",
        "failed",
        "expired",
        "cancelled",
      ])
      .describe("`queued`: no line has begun."),
    project: z.string().nullable(),
    key_id: z.string(),
    key_name: z.string().nullable(),
    model: z.string().nullable().describe("`null`: not known yet, or several models."),
    name: z.string().nullable().describe("`name` or `description` of its metadata."),
    created_at: z.string(),
    started_at: z.string().nullable(),
    ended_at: z.string().nullable(),
    deadline: z.string().describe("Lines that have not run until then never run."),
    expires_at: z.string().describe("When the job is deleted, unless it ends later."),
    lines: z.number().describe("0 while the input is being checked."),
    completed: z.number(),
    failed: z.number(),
    cost: z
      .number()
      .nullable()
      .describe("The known cost of the lines that have ended, in US dollars."),
    lines_per_second: z.number().nullable().describe("The average since its start."),
    remaining_ms: z
      .number()
      .nullable()
      .describe("An estimate by this rate. `null`: unknown, or the job does not run."),
    error: z.string().nullable().describe("Why the whole job failed."),
    waiting: z
      .strictObject({ code: z.string(), message: z.string(), next_attempt_at: z.string() })
      .nullable()
      .describe("The last error, and when the next attempt begins. `null`: it does not wait."),
    line_errors: z
      .array(z.strictObject({ code: z.string(), message: z.string(), count: z.number() }))
      .describe("The three most frequent errors of its lines, each with the message of one line."),
    has_output: z.boolean(),
    has_errors: z.boolean(),
  })
  .meta({ id: "ShownJob", description: "A batch or an image job." });
export type ShownJob = Infer<typeof shownJobSchema>;

const inputErrorsSchema = z.array(
  z.strictObject({
    line: z.number().nullable(),
    code: z.string(),
    message: z.string(),
    param: z.string().nullable(),
  }),
);

const estimatedCostSchema = z.strictObject({
  now: z.number().nullable(),
  vendor: z.number().nullable(),
});

export const jobDetailSchema = shownJobSchema
  .extend({
    input_errors: inputErrorsSchema.describe("Why the input file is invalid: at most 100 errors."),
    execution: z
      .enum(batchExecutions)
      .nullable()
      .describe("Where the lines of a batch run. `null`: not known yet, or an image job."),
    upstream: z.string().nullable().describe("The upstream whose batches run the lines."),
    estimated_cost: estimatedCostSchema
      .nullable()
      .describe("In US dollars: as requests now, and in batches of the vendor."),
    list_cost: z
      .number()
      .nullable()
      .describe("The cost without the discount of the vendor's batches, in US dollars."),
  })
  .meta({ id: "JobDetail", description: "A job with the errors of its input file." });
export type JobDetail = Infer<typeof jobDetailSchema>;

export const jobEstimateSchema = z
  .strictObject({
    object: z.literal("job_estimate"),
    lines: z.number().describe("Of the file. 0 if it is invalid."),
    valid_lines: z.number().describe("Lines that the endpoint accepts. The others would fail."),
    input_errors: inputErrorsSchema.describe("Why the file is invalid: at most 100 errors."),
    model: z.string().nullable().describe("`null`: the lines have several models."),
    estimated_cost: estimatedCostSchema
      .nullable()
      .describe("In US dollars: as requests now, and in batches of the vendor."),
    execution: z
      .enum(batchExecutions)
      .describe("Where the lines run unless the start of the job says otherwise."),
    vendor_problem: z
      .string()
      .nullable()
      .describe("Why the lines cannot run in a batch of the vendor. `null`: they can."),
  })
  .meta({ id: "JobEstimate", description: "What a batch would run and cost. Nothing is sent." });
export type JobEstimate = Infer<typeof jobEstimateSchema>;
