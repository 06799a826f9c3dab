/** The schemas of all responses, for the OpenAPI document. Tests validate real responses against them. */
import { z } from "zod";

const tokens = z.int().min(0);

export const embeddingsResponse = z.object({
  object: z.literal("list"),
  data: z.array(
    z.object({
      object: z.literal("embedding"),
      index: z.int().min(0),
      embedding: z
        .union([z.array(z.number()), z.string()])
        .describe(
          "An array of numbers, or with `encoding_format: base64` a base64 string of little-endian float32 values.",
        ),
    }),
  ),
  model: z.string(),
  usage: z
    .object({ prompt_tokens: tokens, total_tokens: tokens })
    .describe(
      "As reported by the upstream, or an estimate, which the header `vexel-usage: estimated` marks.",
    ),
});

const imageUsage = z.looseObject({
  total_tokens: tokens,
  input_tokens: tokens,
  output_tokens: tokens,
});

export const imagesResponse = z.looseObject({
  created: z.int().describe("Unix seconds."),
  data: z.array(
    z.looseObject({
      b64_json: z.string().optional(),
      url: z.string().optional(),
      revised_prompt: z.string().optional(),
    }),
  ),
  size: z.string().optional(),
  quality: z.string().optional(),
  background: z.string().optional(),
  output_format: z.string().optional(),
  usage: imageUsage.optional(),
});

const day = z.string().regex(/^\d{4}-\d\d-\d\d$/);

const model = z.looseObject({
  id: z.string(),
  object: z.literal("model"),
  created: z.int(),
  owned_by: z.string(),
  kind: z.enum(["embedding", "image"]),
  ends_on: day.optional().describe("The day from which no upstream serves the model."),
  shutdown_date: day.optional().describe("The same day, under OpenAI's name."),
});

export const modelResponse = model;
const engine = z.object({
  id: z.string(),
  object: z.literal("engine"),
  owner: z.string(),
  ready: z.boolean(),
});
export const engineResponse = engine;
export const enginesResponse = z.object({ object: z.literal("list"), data: z.array(engine) });
export const modelsResponse = z.object({ object: z.literal("list"), data: z.array(model) });

export const errorResponse = z.object({
  error: z.looseObject({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

const time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const attemptFields = {
  status: z.int().nullable().describe("The receiver's response status; null without a response."),
  problem: z.string().nullable(),
};

export const eventsResponse = z.object({
  object: z.literal("list"),
  data: z.array(
    z.object({
      id: z.string(),
      object: z.literal("event"),
      type: z.string(),
      timestamp: time,
      data: z.looseObject({}),
      deliveries: z.array(
        z.object({
          webhook: z.string(),
          state: z.enum(["waiting", "delivered", "abandoned"]),
          attempts: z.int().min(0),
          last_attempt_at: time.nullable(),
          next_attempt_at: time.nullable(),
          ...attemptFields,
        }),
      ),
    }),
  ),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});

const count = z.int().min(0);
const milliseconds = z.number().min(0).nullable();

export const targetsResponse = z.object({
  object: z.literal("list"),
  data: z.array(
    z.object({
      object: z.literal("target"),
      upstream: z.string(),
      model: z.string().describe("The upstream's name for the model."),
      surface: z.string().nullable(),
      models: z.array(z.string()).describe("The public models that the target serves."),
      state: z.enum(["healthy", "slow_start", "cooling", "ejected"]),
      reason: z.string().nullable(),
      until: time
        .nullable()
        .describe("When the target is probed at the earliest, or has its full share again."),
      share: z
        .number()
        .describe("The share of its normal load that the target gets: below 1 in slow start."),
      in_flight: count,
      limit: count.describe(
        "The adaptive concurrency limit; above it other targets are preferred.",
      ),
      error_share: z
        .number()
        .nullable()
        .describe("The share of failures among its latest requests."),
      latency: z.array(
        z.object({
          size: count.describe("The size class; 0 is the smallest, and image requests."),
          mean_ms: milliseconds,
          p95_ms: milliseconds,
        }),
      ),
      counts: z.object({ responses: count, failed: count, limited: count, refused: count }),
    }),
  ),
});

export const webhooksResponse = z.object({
  object: z.literal("list"),
  data: z.array(
    z.object({
      id: z.string(),
      object: z.literal("webhook"),
      url: z.string().describe("The URL without its query string."),
      events: z.array(z.string()),
      state: z
        .enum(["active", "gone"])
        .describe("`gone`: the receiver responded with 410 and gets no more events."),
      waiting: count,
      delivered: count,
      abandoned: count,
      consecutive_failures: count,
      last_attempt: z
        .object({ event: z.string(), at: time, delivered: z.boolean(), ...attemptFields })
        .nullable(),
    }),
  ),
});

export const webhookTestResponse = z.object({
  object: z.literal("webhook.test"),
  webhook: z.string(),
  event: z.string(),
  delivered: z.boolean(),
  ...attemptFields,
  duration_ms: count,
});

export const statusResponse = z.looseObject({ status: z.string() });
