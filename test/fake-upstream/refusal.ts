/** OpenAI's error bodies, verbatim where the contract documents them; a comment marks those from memory. */

import type { ErrorBody } from "../../contract/errors.ts";

export class Refusal extends Error {
  readonly status: number;
  readonly body: ErrorBody;

  constructor(status: number, error: ErrorBody["error"]) {
    super(error.message);
    this.status = status;
    this.body = { error };
  }
}

/** A 4xx of OpenAI's validators. */
export const invalid = (
  message: string,
  code: string | null = null,
  param: string | null = null,
  status = 400,
): Refusal => new Refusal(status, { message, type: "invalid_request_error", param, code });

/** A 400 of the image models themselves. */
export const imageRefused = (
  message: string,
  code: string,
  extra: Record<string, unknown> = {},
): Refusal =>
  new Refusal(400, { message, type: "image_generation_user_error", param: null, code, ...extra });

export const missingKey = (): Refusal =>
  invalid(
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API from your browser and are prompted for a username and password. You can obtain an API key from https://platform.openai.com/account/api-keys.",
    null,
    null,
    401,
  );

const masked = (key: string): string =>
  key.length < 12 ? "*".repeat(key.length) : `${key.slice(0, 8)}****${key.slice(-4)}`;

export const wrongKey = (key: string): Refusal =>
  invalid(
    `Incorrect API key provided: ${masked(key)}. You can find your API key at https://platform.openai.com/account/api-keys.`,
    "invalid_api_key",
    null,
    401,
  );

export const notJson = (): Refusal =>
  invalid(
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble figuring out how to fix this, please contact us through our help center at help.openai.com.)",
  );

export const noModel = (model: string): Refusal =>
  invalid(
    `The model \`${model}\` does not exist or you do not have access to it.`,
    "model_not_found",
    null,
    404,
  );

export const noUrl = (method: string, path: string): Refusal =>
  invalid(`Invalid URL (${method} ${path})`, null, null, 404);

/** From memory. */
export const wrongMethod = (method: string, path: string): Refusal =>
  invalid(
    `Not allowed to ${method} on ${path}. (HINT: Perhaps you meant to use a different HTTP method?)`,
    "method_not_supported",
    null,
    405,
  );

export const missingField = (field: string): Refusal =>
  invalid(`Missing required parameter: '${field}'.`, "missing_required_parameter", field);

export const unknownField = (field: string): Refusal =>
  invalid(`Unknown parameter: '${field}'.`, "unknown_parameter", field);

export const wrongType = (field: string, expected: string, got: string): Refusal =>
  invalid(
    `Invalid type for '${field}': expected ${expected}, but got ${got} instead.`,
    "invalid_type",
    field,
  );
