/** Every way a call can fail: the one table from which statuses, bodies and docs/errors.md follow. */
import {
  client,
  drawing,
  type ErrorDefinition,
  gateway,
  invalid,
  limited,
  upstream,
} from "./error-definition.ts";

export type { ErrorDefinition };

export const errorTable = {
  // Who are you
  missing_api_key: invalid(null, "No key was sent.", 401),
  invalid_api_key: invalid("invalid_api_key", "The key is unknown, revoked or mistyped.", 401),

  // Where did you knock
  unknown_url: invalid("unknown_url", "No such path.", 404),
  method_not_allowed: invalid("method_not_allowed", "The path exists, the method does not.", 405),

  // What did you send
  invalid_http: invalid("invalid_http", "What came is no HTTP/1.1 request that can be read."),
  headers_too_large: invalid(
    "headers_too_large",
    "The address and the headers of the request are too large.",
    431,
  ),
  invalid_json: invalid(null, "The body is not valid JSON, or not an object."),
  invalid_form: invalid("invalid_form", "The multipart form is broken or cut short."),
  incomplete_body: invalid("incomplete_body", "The body ended before its announced length."),
  unsupported_content_type: invalid(
    "unsupported_content_type",
    "The content type, or the content encoding, is not one this path reads.",
    415,
  ),
  request_too_large: invalid("request_too_large", "The body, a file or a field is too large.", 413),
  request_timeout: invalid("request_timeout", "The body did not arrive in time.", 408),

  // What do you want
  missing_model: invalid(null, "An embeddings call names no model."),
  missing_parameter: invalid("missing_required_parameter", "A required field is absent."),
  invalid_input: invalid(
    null,
    "An embeddings `input` is empty, too long, or of a shape that is not allowed.",
  ),
  invalid_type: invalid("invalid_type", "A field has the wrong type."),
  invalid_value: invalid("invalid_value", "A field has a value that is not allowed."),
  unknown_parameter: invalid("unknown_parameter", "The model does not know this field."),
  duplicate_parameter: invalid("duplicate_parameter", "A field was given more than once."),
  context_length_exceeded: invalid(null, "One embeddings input has more tokens than the model."),
  max_tokens_per_request: client(
    400,
    "max_tokens_per_request",
    "max_tokens_per_request",
    "All embeddings inputs together have too many tokens.",
  ),
  dimensions_unsupported: invalid(null, "The model cannot shorten its vectors."),
  prompt_too_long: invalid(null, "The prompt is longer than the model reads."),
  invalid_size: invalid("invalid_size", "The model does not make pictures of this size."),
  transparency_unsupported: drawing(
    "invalid_value",
    "The model cannot make a transparent background.",
  ),
  unsupported_file_mimetype: invalid(
    "unsupported_file_mimetype",
    "An uploaded file is not a picture of a kind that is read.",
  ),
  invalid_image_file: invalid("invalid_image_file", "An uploaded picture cannot be decoded."),
  moderation_blocked: drawing("moderation_blocked", "The safety system refused the call."),

  invalid_idempotency_key: invalid(
    "invalid_idempotency_key",
    "The Idempotency-Key is empty, too long, or not printable.",
  ),
  idempotency_mismatch: invalid(
    "idempotency_mismatch",
    "The Idempotency-Key was used before with another request.",
    409,
  ),
  result_not_found: invalid(
    "result_not_found",
    "No answer is kept for this id, or it has expired, or it is another key's.",
    404,
  ),

  // May you
  model_not_found: invalid(
    "model_not_found",
    "No model has this id, or the key may not use it.",
    404,
  ),
  not_an_embedding_model: invalid(null, "The model makes pictures, not vectors.", 403),
  not_an_image_model: drawing("invalid_value", "The model makes vectors, not pictures."),
  unsupported_operation: drawing("invalid_value", "The model cannot do this kind of image call."),
  billing_hard_limit_reached: invalid(
    "billing_hard_limit_reached",
    "The spending limit at the upstream is reached.",
  ),
  rate_limited: limited("The key, its project or the model has used up its limit for a minute."),
  larger_than_limit: client(
    429,
    "requests",
    "rate_limit_exceeded",
    "The call by itself is larger than a limit for a minute allows.",
  ),
  queue_full: limited(
    "As many calls are at work as may be at once, and too many others wait or the wait was too long.",
  ),
  upload_limit_reached: limited(
    "Unfinished requests of the key hold its whole share of temp storage or of memory for JSON bodies, so another body is not read.",
  ),
  over_budget: client(
    429,
    "insufficient_quota",
    "insufficient_quota",
    "The call would cost more than is left of a budget of its key or project.",
  ),
  price_unknown: invalid(
    "price_unknown",
    "Nobody knows what the call would cost, and a budget allows no such calls.",
    403,
  ),

  // The upstream failed
  upstream_rejected: upstream(
    400,
    "invalid_request_error",
    null,
    "never",
    "The upstream refused the request as invalid; its own words are passed on.",
  ),
  upstream_forbidden: upstream(
    403,
    "invalid_request_error",
    null,
    "never",
    "The upstream account may not use this model.",
  ),
  upstream_rate_limit: {
    ...upstream(
      429,
      "requests",
      "rate_limit_exceeded",
      "elsewhere",
      "The upstream's rate limit is reached.",
    ),
    passing: true,
  },
  slow_down: {
    ...upstream(
      429,
      "rate_limit_error",
      "slow_down",
      "elsewhere",
      "The rate of calls to the upstream rose too quickly.",
    ),
    passing: true,
  },
  insufficient_quota: {
    ...upstream(
      429,
      "insufficient_quota",
      "insufficient_quota",
      "elsewhere",
      "The upstream account has no credit left.",
    ),
    final: true,
  },
  upstream_credentials: {
    ...upstream(
      502,
      "server_error",
      "upstream_credentials",
      "elsewhere",
      "The upstream refused the gateway's own credentials.",
    ),
    final: true,
  },
  upstream_error: {
    ...upstream(
      502,
      "server_error",
      "upstream_error",
      "elsewhere",
      "The upstream failed, or is not where the configuration says.",
    ),
    passing: true,
    maybePaid: true,
  },
  upstream_overloaded: {
    ...upstream(
      503,
      "service_unavailable_error",
      "server_is_overloaded",
      "elsewhere",
      "The upstream is overloaded.",
    ),
    passing: true,
  },
  upstream_unreachable: {
    ...upstream(
      502,
      "server_error",
      "upstream_unreachable",
      "elsewhere",
      "No connection to the upstream, or it broke.",
    ),
    passing: true,
    maybePaid: true,
  },
  upstream_timeout: {
    ...upstream(
      504,
      "server_error",
      "upstream_timeout",
      "elsewhere",
      "The upstream did not answer in time.",
    ),
    passing: true,
    maybePaid: true,
  },
  upstream_invalid: {
    ...upstream(
      502,
      "server_error",
      "upstream_invalid",
      "elsewhere",
      "The upstream's answer was not true: wrong count, order, size or shape, or a picture that is none or breaks off.",
    ),
    maybePaid: true,
  },
  no_healthy_target: upstream(
    503,
    "service_unavailable_error",
    "no_healthy_target",
    "later",
    "Every target of the model has failed lately, and none is due to be tried again yet.",
  ),

  // We failed
  client_closed: client(499, "invalid_request_error", "client_closed", "The caller hung up first."),
  overloaded: gateway(
    503,
    "service_unavailable_error",
    "server_is_overloaded",
    "The gateway has as much in hand as it can carry.",
  ),
  target_at_limit: {
    ...gateway(
      429,
      "requests",
      "rate_limit_exceeded",
      "The upstream has been asked as much as its limits in the configuration allow.",
    ),
    retry: "elsewhere",
  },
  shutting_down: gateway(
    503,
    "service_unavailable_error",
    "shutting_down",
    "The gateway is stopping and takes no new calls.",
  ),
  ledger_unavailable: gateway(
    503,
    "service_unavailable_error",
    "ledger_unavailable",
    "The ledger cannot be written (disk full or read-only, data folder removed or damaged), so no call is made.",
  ),
  storage_unavailable: gateway(
    503,
    "service_unavailable_error",
    "storage_unavailable",
    "An upload or a result cannot be written to disk.",
  ),
  internal: {
    status: 500,
    type: "server_error",
    code: "server_error",
    blame: "gateway",
    retry: "never",
    when: "A defect in the gateway. The request id finds it in the log.",
  },
} as const satisfies Record<string, ErrorDefinition>;

export type ErrorKind = keyof typeof errorTable;

/** OpenAI's error body. All four keys are always there. */
export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
    readonly [extra: string]: unknown;
  };
}
