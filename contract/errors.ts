/**
 * The error table: every error that a client can get. Statuses, error bodies and whether the gateway retries or fails
 * over are derived from it, and a test compares docs/errors.md with it.
 */
import {
  clientError,
  type ErrorDefinition,
  failoverError,
  imageUserError,
  invalidRequest,
  rateLimitError,
  temporaryGatewayError,
  upstreamError,
} from "./error-definition.ts";

export type { ErrorDefinition };

export const errorTable = {
  // Authentication
  missing_api_key: invalidRequest(null, "The request has no API key.", 401),
  invalid_api_key: invalidRequest(
    "invalid_api_key",
    "The API key is unknown, revoked, expired or malformed.",
    401,
  ),

  // Console and admin API
  not_signed_in: invalidRequest(
    "not_signed_in",
    "A request to the admin API has neither a session nor the admin token.",
    401,
  ),
  invalid_credentials: invalidRequest(
    "invalid_credentials",
    "The username, the password or the one-time link is wrong.",
    401,
  ),
  second_factor_required: invalidRequest(
    "second_factor_required",
    "The password is right, and a code from the authenticator app or a recovery code is also required.",
    401,
  ),
  password_change_required: invalidRequest(
    "password_change_required",
    "The user must choose a new password first.",
    403,
  ),
  permission_denied: invalidRequest(
    "permission_denied",
    "The role or the projects of the user do not allow the request.",
    403,
  ),
  invalid_csrf_token: invalidRequest(
    "invalid_csrf_token",
    "A change through the console's session lacks its CSRF token, or comes from another site.",
    403,
  ),
  entity_not_found: invalidRequest("not_found", "No entity has this ID.", 404),
  entity_read_only: invalidRequest(
    "read_only",
    "The entity is defined in the configuration file or the environment, and can only be changed there, or it is built in and cannot be changed.",
    409,
  ),
  entity_exists: invalidRequest("already_exists", "Another entity has this ID.", 409),
  entity_in_use: invalidRequest(
    "in_use",
    "The entity cannot be deleted, because others refer to it. `used_by` lists them.",
    409,
  ),
  version_conflict: invalidRequest(
    "version_conflict",
    "The entity was changed since the version that the change is based on.",
    412,
  ),

  // URL and method
  unknown_url: invalidRequest("unknown_url", "No route has this path.", 404),
  method_not_allowed: invalidRequest(
    "method_not_allowed",
    "The path exists, but not for this method.",
    405,
  ),

  // Request format
  invalid_http: invalidRequest(
    "invalid_http",
    "The bytes on the connection are not a valid HTTP/1.1 request.",
  ),
  headers_too_large: invalidRequest(
    "headers_too_large",
    "The request line and the headers are too large.",
    431,
  ),
  invalid_json: invalidRequest(null, "The body is not valid JSON, or is not a JSON object."),
  invalid_form: invalidRequest("invalid_form", "The multipart form is malformed or truncated."),
  incomplete_body: invalidRequest(
    "incomplete_body",
    "The body ended before the length in `content-length`, or before its last chunk.",
  ),
  unsupported_content_type: invalidRequest(
    "unsupported_content_type",
    "The path does not accept this content type or content encoding.",
    415,
  ),
  request_too_large: invalidRequest(
    "request_too_large",
    "The body, a file or a field exceeds its maximum size.",
    413,
  ),
  request_timeout: invalidRequest(
    "request_timeout",
    "The body was not received within the body timeout.",
    408,
  ),

  // Parameters
  missing_model: invalidRequest(
    null,
    "An embeddings request has no `model`, and no default model applies.",
  ),
  missing_parameter: invalidRequest(
    "missing_required_parameter",
    "A required parameter is missing.",
  ),
  invalid_input: invalidRequest(
    null,
    "The `input` of an embeddings request is empty, too long, or of an invalid type.",
  ),
  invalid_type: invalidRequest("invalid_type", "A parameter has the wrong type."),
  invalid_value: invalidRequest("invalid_value", "A parameter has an invalid value."),
  unknown_parameter: invalidRequest(
    "unknown_parameter",
    "The parameter is unknown, or the model does not support it.",
  ),
  duplicate_parameter: invalidRequest("duplicate_parameter", "A parameter occurs more than once."),
  context_length_exceeded: invalidRequest(
    null,
    "One embeddings input has more tokens than the model's context length.",
  ),
  max_tokens_per_request: clientError(
    400,
    "max_tokens_per_request",
    "max_tokens_per_request",
    "The embeddings inputs together have more tokens than one request may have.",
  ),
  dimensions_unsupported: invalidRequest(
    null,
    "The model does not support `dimensions`, or not this value.",
  ),
  prompt_too_long: invalidRequest(
    "string_above_max_length",
    "The prompt exceeds the model's maximum length.",
  ),
  invalid_size: imageUserError(
    "invalid_value",
    "The image size is malformed, or breaks a rule of the model for its sizes.",
  ),
  transparency_unsupported: imageUserError(
    "invalid_value",
    "The model does not support a transparent background.",
  ),
  unsupported_file_mimetype: invalidRequest(
    "unsupported_file_mimetype",
    "An uploaded file is not an image in a supported format.",
  ),
  invalid_image_file: invalidRequest("invalid_image_file", "An uploaded image cannot be decoded."),
  moderation_blocked: imageUserError("moderation_blocked", "A safety system rejected the request."),

  // Files and jobs
  object_not_found: invalidRequest(
    null,
    "The project of the API key has no file, batch or other object with this ID.",
    404,
  ),
  invalid_state: invalidRequest(
    "invalid_state",
    "The upload or the batch has ended and can no longer be changed.",
  ),
  file_quota_exceeded: invalidRequest(
    "file_quota_exceeded",
    "The files of the project, or of the gateway, have used up their space.",
    403,
  ),
  files_unavailable: invalidRequest(
    "files_unavailable",
    "The gateway has no storage for files that its replicas share.",
    501,
  ),

  // Jobs
  jobs_unavailable: invalidRequest(
    "jobs_unavailable",
    "The gateway has no storage for jobs that its replicas share.",
    501,
  ),
  job_quota_exceeded: clientError(
    429,
    "insufficient_quota",
    "job_quota_exceeded",
    "The project, or the gateway, has too many unfinished jobs, or its jobs have used up their space.",
  ),
  job_not_ended: invalidRequest(
    "job_not_ended",
    "The job cannot be deleted, because it has not ended.",
    409,
  ),
  job_cancelled: invalidRequest("job_cancelled", "The job was canceled before it ended.", 409),
  job_expired: invalidRequest("job_expired", "The job did not end before its deadline.", 408),
  job_interrupted: {
    ...temporaryGatewayError(
      500,
      "server_error",
      "job_interrupted",
      "The gateway stopped while an image of the job was generated, and the image is lost. It may have been billed, and is not generated again.",
    ),
    retry: "never",
    mayBeBilled: true,
  },
  vendor_batch_failed: {
    ...temporaryGatewayError(
      502,
      "server_error",
      "vendor_batch_failed",
      "The vendor batch that should have run the line failed or was refused.",
    ),
    retry: "never",
  },
  job_not_validated: {
    ...temporaryGatewayError(
      500,
      "server_error",
      "job_not_validated",
      "The gateway stopped or failed three times while it validated the input of the job.",
    ),
    retry: "never",
  },
  job_input_missing: {
    ...temporaryGatewayError(
      500,
      "server_error",
      "job_input_missing",
      "The stored input of the job is missing or incomplete.",
    ),
    retry: "never",
  },

  // Idempotency
  invalid_idempotency_key: invalidRequest(
    "invalid_idempotency_key",
    "The `Idempotency-Key` header is empty, too long, or not printable ASCII.",
  ),
  idempotency_mismatch: invalidRequest(
    "idempotency_mismatch",
    "The `Idempotency-Key` was used before with a different request.",
    409,
  ),
  result_not_found: invalidRequest(
    "result_not_found",
    "No response is stored for this request ID, or it has expired, or it belongs to another API key.",
    404,
  ),

  // Permissions, limits and budgets
  model_not_found: invalidRequest(
    "model_not_found",
    "No model has this ID, or the API key has no access to it.",
    404,
  ),
  not_an_embedding_model: invalidRequest(null, "An embeddings request names an image model.", 403),
  not_an_image_model: imageUserError("invalid_value", "An image request names an embedding model."),
  unsupported_operation: imageUserError(
    "invalid_value",
    "The model does not support this operation.",
  ),
  rate_limited: rateLimitError(
    "A rate limit of the API key, its project, the end user, a tag or the model is exhausted.",
  ),
  larger_than_limit: clientError(
    429,
    "requests",
    "rate_limit_exceeded",
    "The request alone exceeds a rate limit, so it can never be admitted.",
  ),
  queue_full: rateLimitError(
    "All concurrency slots are in use, and the queue is full or the request timed out while queued.",
  ),
  upload_limit_reached: rateLimitError(
    "Unfinished requests of the API key use its whole share of temp storage, or of the memory for JSON bodies, so another body is not read.",
  ),
  over_budget: clientError(
    429,
    "insufficient_quota",
    "insufficient_quota",
    "The estimated cost of the request exceeds the remaining budget of its API key, project, end user or tag.",
  ),
  price_unknown: invalidRequest(
    "price_unknown",
    "The request has no known price, and a budget refuses requests without one.",
    403,
  ),

  // Upstream errors
  upstream_rejected: upstreamError(
    400,
    "invalid_request_error",
    null,
    "never",
    "The upstream rejected the request as invalid.",
  ),
  upstream_forbidden: upstreamError(
    403,
    "invalid_request_error",
    null,
    "never",
    "The upstream account has no access to this model.",
  ),
  upstream_rate_limit: failoverError(
    429,
    "requests",
    "rate_limit_exceeded",
    "The upstream's rate limit is exceeded.",
    { transient: true },
  ),
  slow_down: failoverError(
    429,
    "rate_limit_error",
    "slow_down",
    "The rate of requests to the upstream increased too quickly.",
    { transient: true },
  ),
  insufficient_quota: failoverError(
    429,
    "insufficient_quota",
    "insufficient_quota",
    "The upstream account has no credit or quota left.",
    { clientShouldNotRetry: true },
  ),
  billing_hard_limit_reached: failoverError(
    400,
    "invalid_request_error",
    "billing_hard_limit_reached",
    "The spending limit of the upstream account is reached.",
    { clientShouldNotRetry: true },
  ),
  upstream_credentials: failoverError(
    502,
    "server_error",
    "upstream_credentials",
    "The upstream rejected the gateway's credentials.",
    { clientShouldNotRetry: true },
  ),
  upstream_error: failoverError(
    502,
    "server_error",
    "upstream_error",
    "The upstream failed, or its configured URL is wrong.",
    { transient: true, mayBeBilled: true },
  ),
  upstream_overloaded: failoverError(
    503,
    "service_unavailable_error",
    "server_is_overloaded",
    "The upstream is overloaded.",
    { transient: true },
  ),
  upstream_unreachable: failoverError(
    502,
    "server_error",
    "upstream_unreachable",
    "The connection to the upstream could not be established, or was lost.",
    { transient: true, mayBeBilled: true },
  ),
  upstream_timeout: failoverError(
    504,
    "server_error",
    "upstream_timeout",
    "The request timed out before the upstream responded.",
    { transient: true, mayBeBilled: true },
  ),
  upstream_invalid: failoverError(
    502,
    "server_error",
    "upstream_invalid",
    "The upstream's response is invalid: wrong number or order of results, wrong dimensions or structure, or an image that is truncated or is not an image.",
    { mayBeBilled: true },
  ),
  no_healthy_target: upstreamError(
    503,
    "service_unavailable_error",
    "no_healthy_target",
    "later",
    "Every target of the model is ejected or cooling down, and none is due for a probe yet.",
  ),

  // Gateway errors and client disconnects
  client_closed: clientError(
    499,
    "invalid_request_error",
    "client_closed",
    "The client closed the connection before the response was complete.",
  ),
  overloaded: temporaryGatewayError(
    503,
    "service_unavailable_error",
    "server_is_overloaded",
    "The gateway is overloaded and sheds the request.",
  ),
  target_at_limit: {
    ...temporaryGatewayError(
      429,
      "requests",
      "rate_limit_exceeded",
      "The limits that the configuration sets for the upstream or the target are exhausted.",
    ),
    retry: "elsewhere",
  },
  shutting_down: temporaryGatewayError(
    503,
    "service_unavailable_error",
    "shutting_down",
    "The gateway is shutting down: it accepts no new requests, and ends those that are still in flight after the drain.",
  ),
  ledger_unavailable: temporaryGatewayError(
    503,
    "service_unavailable_error",
    "ledger_unavailable",
    "The ledger cannot be written (disk full or read-only, data folder removed or damaged), so the request is refused.",
  ),
  storage_unavailable: temporaryGatewayError(
    503,
    "service_unavailable_error",
    "storage_unavailable",
    "An upload or a result cannot be written to disk, or the database or the object store of the gateway cannot be reached.",
  ),
  internal: {
    status: 500,
    type: "server_error",
    code: "server_error",
    causedBy: "gateway",
    retry: "never",
    description: "The gateway has a bug. The log has the stack trace under the request ID.",
  },
} as const satisfies Record<string, ErrorDefinition>;

export type ErrorKind = keyof typeof errorTable;

/**
 * Vexel refuses a request with one of these: by its parameters, permissions, limits or budgets, before any upstream
 * request. All other errors are failures: also of a gateway that is overloaded, without a healthy target or at the
 * limits that the operator took over from a vendor, and a vendor's own 429.
 */
export const refusedKinds = [
  "invalid_json",
  "invalid_form",
  "incomplete_body",
  "unsupported_content_type",
  "request_too_large",
  "request_timeout",
  "missing_model",
  "missing_parameter",
  "invalid_input",
  "invalid_type",
  "invalid_value",
  "unknown_parameter",
  "duplicate_parameter",
  "context_length_exceeded",
  "max_tokens_per_request",
  "dimensions_unsupported",
  "prompt_too_long",
  "invalid_size",
  "transparency_unsupported",
  "unsupported_file_mimetype",
  "invalid_image_file",
  "invalid_idempotency_key",
  "idempotency_mismatch",
  "model_not_found",
  "not_an_embedding_model",
  "not_an_image_model",
  "unsupported_operation",
  "rate_limited",
  "larger_than_limit",
  "queue_full",
  "upload_limit_reached",
  "over_budget",
  "price_unknown",
] as const satisfies readonly ErrorKind[];

const refused: ReadonlySet<string> = new Set(refusedKinds);

/** With an attempt, an error of such a kind is that of the upstream: it may know no model of the target's name. */
export const isRefused = (error: string | null | undefined, attempts: number): boolean =>
  attempts === 0 && error !== null && error !== undefined && refused.has(error);

/** OpenAI's error body. It always has all four members. */
export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
    readonly [extra: string]: unknown;
  };
}
