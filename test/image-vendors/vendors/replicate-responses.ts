/** Responses of Replicate: a prediction in each of its states, and its errors. */
import type { FakeVendor, VendorResponse } from "../image-vendor.ts";

export type Fields = Readonly<Record<string, unknown>>;

export const problem = (status: number, title: string, detail: string, more: object = {}) =>
  ({ status, body: { title, detail, status, ...more } }) satisfies VendorResponse;

export const invalid = (field: string, description: string): VendorResponse =>
  problem(422, "Input validation failed", `- input.${field}: ${description}\n`, {
    invalid_fields: [{ type: "invalid", field: `input.${field}`, description }],
  });

export const notFound = (): VendorResponse => ({
  status: 404,
  body: { detail: "The requested resource could not be found.", status: 404 },
});

export interface Made {
  readonly input: Fields;
  readonly version: string;
  readonly output: unknown;
}

export const prediction = (id: string, origin: string, made: Made, status: string): object => {
  const ended = status === "succeeded";
  return {
    id,
    model: "someone/something",
    version: made.version,
    // Not repeated in full, because it may contain images.
    input: { prompt: made.input.prompt },
    logs: "",
    output: ended ? made.output : null,
    data_removed: false,
    error: null,
    source: "api",
    status,
    created_at: "2026-02-27T19:53:19.202Z",
    ...(ended && {
      started_at: "2026-02-27T19:53:19.210Z",
      completed_at: "2026-02-27T19:53:20.012Z",
      metrics: { predict_time: 0.802, total_time: 0.81 },
    }),
    urls: {
      cancel: `${origin}/v1/predictions/${id}/cancel`,
      get: `${origin}/v1/predictions/${id}`,
      stream: `https://stream.replicate.com/v1/files/${id}`,
      web: `https://replicate.com/p/${id}`,
    },
  };
};

const failed = (error: string): VendorResponse => {
  const made = { input: { prompt: "a cat" }, version: "hidden", output: null };
  const body = { ...prediction("gone", "https://api.replicate.com", made, "failed"), error };
  return { status: 201, body };
};

export const replicateRefusals: FakeVendor["refusals"] = [
  {
    ...problem(401, "Unauthenticated", "You did not pass a valid authentication token"),
    kind: "upstream_credentials",
  },
  {
    ...problem(
      402,
      "Insufficient credit",
      "You have insufficient credit to run this model. Go to https://replicate.com/account/billing#billing to purchase credit.",
    ),
    kind: "insufficient_quota",
  },
  { ...notFound(), kind: "model_not_found" },
  {
    status: 429,
    body: {
      detail:
        "Request was throttled. Your rate limit for creating predictions is reduced to 6 requests per minute with a burst of 1 requests while you have less than $5.0 in credit. Your rate limit resets in ~5s.",
      status: 429,
      retry_after: 5,
    },
    kind: "upstream_rate_limit",
  },
  { ...invalid("seed", "Must be an integer"), kind: "upstream_rejected" },
  {
    ...failed("NSFW content detected. Try running it again, or try a different prompt."),
    kind: "moderation_blocked",
  },
  {
    ...failed(
      "The input or output was flagged as sensitive. Please try again with different inputs. (E005)",
    ),
    kind: "moderation_blocked",
  },
  {
    ...failed(
      "Service is currently unavailable due to high demand. Please try again later. (E003)",
    ),
    kind: "upstream_overloaded",
  },
  { ...failed("CUDA out of memory. Tried to allocate 2.00 GiB"), kind: "upstream_error" },
  { ...problem(500, "Internal server error", ""), kind: "upstream_error" },
];
