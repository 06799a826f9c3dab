/** The bodies and responses of the routes for what clients store, for the OpenAPI document. */
import { z } from "zod";
import { batchExecutions } from "../../contract/admin/constants.ts";
import { jobEventTypes } from "../../contract/events.ts";
import type { StoredRouteName } from "../http/stored-routes.ts";
import { createBatchBody } from "./batches.ts";
import { createFileForm, maxFilesOfPage } from "./files.ts";
import { imagesResponse } from "./response-schemas.ts";
import { maxEntries } from "./stored-requests.ts";
import { completeUploadBody, createUploadBody, uploadPartForm } from "./uploads.ts";
import {
  createEndpointBody,
  rotateSecretBody,
  testEndpointBody,
  updateEndpointBody,
} from "./webhook-endpoints.ts";

const seconds = z.int().describe("Unix seconds.");

const listOf = (entry: z.ZodType, max: number) =>
  z.object({
    object: z.literal("list"),
    data: z.array(entry).max(max),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  });

const fileResponse = z.object({
  id: z.string(),
  object: z.literal("file"),
  bytes: z.int(),
  created_at: seconds,
  expires_at: seconds.optional(),
  filename: z.string(),
  purpose: z.string(),
  status: z.literal("processed"),
});

const deletedResponse = z.object({
  id: z.string(),
  object: z.string(),
  deleted: z.literal(true),
});

const uploadResponse = z.object({
  id: z.string(),
  object: z.literal("upload"),
  bytes: z.int(),
  created_at: seconds,
  expires_at: seconds,
  filename: z.string(),
  purpose: z.string(),
  status: z.enum(["pending", "completed", "cancelled", "expired"]),
  file: fileResponse.optional(),
});

const uploadPartResponse = z.object({
  id: z.string(),
  object: z.literal("upload.part"),
  created_at: seconds,
  upload_id: z.string(),
});

const time = seconds.nullable();

const waiting = z
  .object({ code: z.string(), message: z.string(), next_attempt_at: seconds })
  .nullable()
  .describe(
    "The last error of the job, and when the next attempt begins. `null`: it does not wait.",
  );

const batchResponse = z.object({
  id: z.string(),
  object: z.literal("batch"),
  endpoint: z.string(),
  model: z.string().nullable(),
  errors: z
    .object({
      object: z.literal("list"),
      data: z.array(
        z.object({
          code: z.string(),
          message: z.string(),
          param: z.string().nullable(),
          line: z.int().nullable(),
        }),
      ),
    })
    .nullable(),
  input_file_id: z.string(),
  completion_window: z.literal("24h"),
  status: z.enum([
    "validating",
    "failed",
    "in_progress",
    "finalizing",
    "completed",
    "expired",
    "cancelling",
    "cancelled",
  ]),
  output_file_id: z.string().nullable(),
  error_file_id: z.string().nullable(),
  created_at: seconds,
  in_progress_at: time,
  expires_at: time,
  finalizing_at: time,
  completed_at: time,
  failed_at: time,
  expired_at: time,
  cancelling_at: time,
  cancelled_at: time,
  request_counts: z.object({ total: z.int(), completed: z.int(), failed: z.int() }),
  usage: z
    .object({
      input_tokens: z.int(),
      input_tokens_details: z.object({ cached_tokens: z.int() }),
      output_tokens: z.int(),
      output_tokens_details: z.object({ reasoning_tokens: z.int() }),
      total_tokens: z.int(),
    })
    .nullable(),
  metadata: z.record(z.string(), z.string()).nullable(),
  vexel: z.object({
    batch: z.enum(batchExecutions).nullable(),
    estimated_cost: z
      .object({ now: z.number().nullable(), vendor: z.number().nullable() })
      .nullable()
      .describe("In US dollars, as requests now and in batches of the vendor."),
    cost: z
      .object({ actual: z.number(), now: z.number().nullable() })
      .nullable()
      .describe("In US dollars, as charged, and without the discount of the vendor's batches."),
    waiting,
  }),
});

const endpointResponse = z.object({
  id: z.string(),
  object: z.literal("webhook_endpoint"),
  name: z.string(),
  url: z.string(),
  event_types: z.array(z.string()),
  signing_secret_hint: z.string(),
  created_at: seconds,
  updated_at: seconds,
});

const endpointWithSecretResponse = endpointResponse.extend({
  signing_secret: z.string().describe("Shown only here."),
});

const endpointTestResponse = z.object({
  object: z.literal("webhook_endpoint.test"),
  webhook_endpoint_id: z.string(),
  event_type: z.string(),
  status_code: z.int(),
  success: z.literal(true),
});

export const imageJobResponse = z.object({
  id: z.string(),
  object: z.literal("image.job"),
  status: z.enum(["queued", "in_progress", "completed", "failed", "cancelled"]),
  progress: z.int().min(0).max(100),
  created_at: seconds,
  expires_at: seconds.describe("Unix seconds. The job is deleted then."),
  completed_at: seconds.nullable(),
  model: z.string(),
  endpoint: z.string(),
  error: z
    .object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().nullable(),
      status_code: z.int(),
    })
    .nullable(),
  waiting,
  metadata: z.record(z.string(), z.string()),
  headers: z
    .record(z.string(), z.string())
    .optional()
    .describe(
      "The `vexel-` headers of the response, such as `vexel-dropped`. If absent, it has none.",
    ),
  result: imagesResponse.nullable().describe("The images response."),
});

const imageTaskResponse = imageJobResponse.extend({
  task_id: z.string(),
  status: z.enum(["processing", "completed", "failed"]),
  poll_url: z.string(),
  http_status: z.int().nullable(),
});

/** Request bodies. `form`: the text fields of a multipart form with the file `file`. */
export const storedBodies: Partial<
  Record<
    StoredRouteName,
    { readonly json: z.ZodType } | { readonly form: z.ZodType; readonly file: string }
  >
> = {
  createFile: { form: createFileForm, file: "file" },
  createUpload: { json: createUploadBody },
  addUploadPart: { form: uploadPartForm, file: "data" },
  completeUpload: { json: completeUploadBody },
  createBatch: { json: createBatchBody },
  createWebhookEndpoint: { json: createEndpointBody },
  updateWebhookEndpoint: { json: updateEndpointBody },
  rotateWebhookSecret: { json: rotateSecretBody },
  testWebhookEndpoint: { json: testEndpointBody },
};

export const storedResponses: Record<
  StoredRouteName,
  { type: string; schema?: z.ZodType; status?: 202 }
> = {
  createFile: { type: "application/json", schema: fileResponse },
  files: { type: "application/json", schema: listOf(fileResponse, maxFilesOfPage) },
  file: { type: "application/json", schema: fileResponse },
  deleteFile: { type: "application/json", schema: deletedResponse },
  fileContent: { type: "application/octet-stream" },
  createUpload: { type: "application/json", schema: uploadResponse },
  addUploadPart: { type: "application/json", schema: uploadPartResponse },
  completeUpload: { type: "application/json", schema: uploadResponse },
  cancelUpload: { type: "application/json", schema: uploadResponse },
  createBatch: { type: "application/json", schema: batchResponse },
  batches: { type: "application/json", schema: listOf(batchResponse, maxEntries) },
  batch: { type: "application/json", schema: batchResponse },
  cancelBatch: { type: "application/json", schema: batchResponse },
  createWebhookEndpoint: { type: "application/json", schema: endpointWithSecretResponse },
  webhookEndpoints: { type: "application/json", schema: listOf(endpointResponse, maxEntries) },
  webhookEndpoint: { type: "application/json", schema: endpointResponse },
  updateWebhookEndpoint: { type: "application/json", schema: endpointResponse },
  deleteWebhookEndpoint: { type: "application/json", schema: deletedResponse },
  rotateWebhookSecret: { type: "application/json", schema: endpointWithSecretResponse },
  testWebhookEndpoint: { type: "application/json", schema: endpointTestResponse },
  webhookEventTypes: {
    type: "application/json",
    schema: z.object({
      object: z.literal("list"),
      data: z.array(z.string()).max(jobEventTypes.length),
    }),
  },
  imageJobs: { type: "application/json", schema: listOf(imageJobResponse, maxEntries) },
  imageJob: { type: "application/json", schema: imageJobResponse },
  cancelImageJob: { type: "application/json", schema: imageJobResponse },
  deleteImageJob: { type: "application/json", schema: deletedResponse },
  generationTask: { type: "application/json", schema: imageTaskResponse, status: 202 },
  editTask: { type: "application/json", schema: imageTaskResponse, status: 202 },
  imageTask: { type: "application/json", schema: imageTaskResponse },
};
