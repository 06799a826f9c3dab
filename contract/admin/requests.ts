/** Requests: rows of the ledger, and the live tail. */
import { z } from "zod";
import { selectionReasons } from "./constants.ts";
import { translatableSchema } from "./error.ts";
import type { Infer } from "./infer.ts";
import { listBounds } from "./list-bounds.ts";
import { pageSchema } from "./page.ts";

export const shownRequestSchema = z
  .strictObject({
    object: z.literal("request"),
    id: z.string(),
    at: z.string(),
    endpoint: z.string(),
    key_id: z.string(),
    key_name: z.string().nullable(),
    project: z.string().nullable(),
    model: z.string().nullable(),
    upstream: z.string().nullable(),
    target_model: z.string().nullable(),
    attempts: z.number(),
    status: z.number(),
    error: z.string().nullable(),
    latency_ms: z.number(),
    input_tokens: z.number().nullable(),
    output_tokens: z.number().nullable(),
    images: z.number().nullable(),
    bytes_in: z.number(),
    bytes_out: z.number(),
    inputs: z
      .number()
      .nullable()
      .describe(
        "Embeddings: the number of inputs, and how many of them were not sent to an upstream.",
      ),
    cached_inputs: z.number().nullable(),
    cost: z.number().nullable(),
    estimated_cost: z.number().nullable(),
    tags: z.array(z.string()),
    end_user: z
      .string()
      .nullable()
      .describe("A keyed hash, unless the operator stores names. `null`: the client named none."),
  })
  .meta({
    id: "ShownRequest",
    description: "One row of the ledger. It has no prompt, input, vector or image.",
  });
export type ShownRequest = Infer<typeof shownRequestSchema>;

export const requestPageSchema = pageSchema(shownRequestSchema, listBounds.page)
  .extend({
    scanned_until: z
      .string()
      .nullable()
      .describe(
        "Set if the search stopped before the page was full because it took too long: all matching requests since this time are listed, and `next_cursor` continues.",
      ),
  })
  .meta({ id: "RequestPage" });
export type RequestPage = Infer<typeof requestPageSchema>;

const selectionSchema = z
  .strictObject({
    by: z
      .enum(selectionReasons)
      .describe(
        "The routing policy that selected the target, or `only`: there was no other to choose from; `probe`: it was ejected, and the request shows whether it has recovered; `unhealthy`: no target was healthy; `failover`: an attempt at another target failed; `retry`: an attempt failed, and no other target was left; `hedge`: an attempt at another target was slow.",
      ),
    candidates: z
      .number()
      .describe("The number of targets that were compared: available targets of one tier."),
    tier: z.number().nullable().describe("The tier of the target. `null`: the model has one tier."),
    is_later_tier: z.boolean().describe("No target of an earlier tier was available."),
    failed: z
      .strictObject({ target: z.string(), error: z.string() })
      .nullable()
      .describe("The attempt that failed before a `failover` or `retry`."),
  })
  .meta({ id: "TargetSelection", description: "What decided the selection of a target." });
export type TargetSelection = Infer<typeof selectionSchema>;

const requestAttemptSchema = z
  .strictObject({
    target: z.string().describe("Such as `openai/text-embedding-3-small`."),
    start_ms: z.number(),
    duration_ms: z.number(),
    queued_ms: z
      .number()
      .describe("The part of the duration that it waited for the limits of the target."),
    is_hedge: z.boolean(),
    error: z.string().nullable().describe("An error kind, or `canceled`. `null`: it succeeded."),
    upstream_status: z
      .number()
      .nullable()
      .describe(
        "The status of the upstream's error response. `null`: it succeeded, or there was no response.",
      ),
    upstream_code: z
      .string()
      .nullable()
      .describe("The vendor's code, and its id of the request, if its error response has them."),
    upstream_request_id: z.string().nullable(),
    upstream_message: z
      .string()
      .nullable()
      .describe(
        "For administrators: the vendor's message, with at most 300 characters and without words that may be a value of the client; without a response, the address and why there was none, such as `10.0.0.5:8000: ECONNREFUSED`.",
      ),
    selection: selectionSchema
      .nullable()
      .describe("Why this target was selected. `null`: it is not recorded."),
  })
  .meta({
    id: "RequestAttempt",
    description:
      "One attempt at a target. Times are milliseconds since the arrival of the request.",
  });
export type RequestAttempt = Infer<typeof requestAttemptSchema>;

const requestStepSchema = z
  .strictObject({
    text: z.string(),
    i18n: translatableSchema.optional().describe("Of `text`. If absent, it has no id."),
  })
  .meta({ id: "RequestStep" });
export type RequestStep = Infer<typeof requestStepSchema>;

export const requestDetailSchema = shownRequestSchema
  .extend({
    upstream_tokens: z
      .number()
      .nullable()
      .describe("Embeddings: the tokens that the upstream counted for this request alone."),
    error_message: z
      .string()
      .nullable()
      .describe(
        "The message of the error that the client got, with at most 300 characters and without quoted texts. `null`: there was no error, or the client got no response.",
      ),
    replica: z
      .string()
      .nullable()
      .describe("The process that served the request, as in the header `vexel-replica`."),
    queued_ms: z.number().describe("The time in the queues of the gateway."),
    timeline: z
      .array(requestAttemptSchema)
      .describe("The first attempts, in the order of their start."),
    batch_size: z.number().nullable().describe("The number of requests in the same micro-batch."),
    adapted: z
      .array(z.string())
      .describe("Parameters that the gateway applied itself, and parameters that it dropped."),
    dropped: z.array(z.string()),
    content_expires_at: z
      .string()
      .nullable()
      .describe(
        "Until when prompts, inputs, vectors and images are stored. `null`: they are not stored.",
      ),
    steps: z
      .array(requestStepSchema)
      .describe(
        "Skipped, failed and hedged targets with the reason, and steps of image requests, in order.",
      ),
  })
  .meta({
    id: "RequestDetail",
    description: "A request with everything that is recorded about it.",
  });
export type RequestDetail = Infer<typeof requestDetailSchema>;

const contentFileSchema = z
  .strictObject({
    field: z.string(),
    filename: z.string(),
    type: z.string(),
    size: z.number().describe("In bytes."),
    data: z.string().nullable().describe("Base64. `null`: too large to be stored."),
  })
  .meta({ id: "ContentFile", description: "An uploaded image." });
export type ContentFile = Infer<typeof contentFileSchema>;

export const requestContentSchema = z
  .strictObject({
    object: z.literal("request_content"),
    request_id: z.string(),
    expires_at: z.string(),
    request: z
      .record(z.string(), z.unknown())
      .describe("The parameters of the request, without uploaded files."),
    files: z.array(contentFileSchema),
    response: z.strictObject({
      status: z.number(),
      content_type: z.string(),
      body: z
        .string()
        .nullable()
        .describe("As it was sent: JSON, or server-sent events. `null`: too large to be stored."),
      end: z
        .enum(["complete", "incomplete", "too_large"])
        .describe("`incomplete`: the client disconnected before the end."),
    }),
  })
  .meta({
    id: "RequestContent",
    description:
      "What the client sent and received. Stored only for models with `storeContent`, until it expires.",
  });
export type RequestContent = Infer<typeof requestContentSchema>;

/** An event `requests` of the live tail. At most ten such events are sent per second. */
export interface LiveBatch {
  readonly data: readonly ShownRequest[];
  /** Matching requests of the same moment that are left out, because there are too many to read. */
  readonly skipped: number;
}

/** An event `dropped` of the live tail: the viewer was too slow for this many requests. */
export interface LiveDropped {
  readonly count: number;
}
