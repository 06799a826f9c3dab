/**
 * What a line of a batch's input file must be: an object with `custom_id`, `method`, `url` and `body`. The codes of a
 * missing field, of another url and of `stream` are those that the tests of llama-stack recorded at OpenAI
 * (tests/integration/batches/test_batches_errors.py).
 */
import type { GatewayError } from "../lib/gateway-error.ts";
import type { InputLine } from "./read-lines.ts";

/** An error of a line, with the code that OpenAI and Azure have for it. */
export class LineError extends Error {
  override readonly name = "LineError";
  readonly code: string;
  readonly param: string | null;

  constructor(code: string, message: string, param: string | null = null) {
    super(message);
    this.code = code;
    this.param = param;
  }
}

interface ParsedLine {
  readonly customId: string;
  /** Undefined: the line is refused. */
  readonly body: unknown;
  /** Why the line fails alone, when it runs: its body exceeds a JSON bound. */
  readonly refusal?: GatewayError;
}

/** `endpoint`: the url of every line. Azure's clients leave out /v1. Throws LineError. */
export function parseLine(line: InputLine, endpoint: string): ParsedLine {
  const fields = fieldsOf(line);
  const { custom_id: customId, method, url, body } = fields;
  const { refusal } = line;
  // The body of a line that is refused is null if it was an object.
  checkRequired(refusal && body === null ? { ...fields, body: {} } : fields);
  if (typeof customId !== "string" || customId === "" || customId.length > 512)
    throw new LineError(
      "invalid_request",
      "Invalid 'custom_id': expected a string of 1 to 512 characters.",
      "custom_id",
    );
  if (method !== "POST")
    throw new LineError("invalid_request", "Invalid 'method': expected 'POST'.", "method");
  if (url !== endpoint && url !== endpoint.replace("/v1", ""))
    throw new LineError(
      "invalid_url",
      `The URL provided for this request does not match the batch endpoint '${endpoint}'.`,
      "url",
    );
  if (refusal && body === null) return { customId, body: undefined, refusal };
  if (typeof body !== "object" || Array.isArray(body))
    throw new LineError("invalid_request", "Invalid 'body': expected an object.", "body");
  if ("stream" in (body as object) && (body as { stream: unknown }).stream === true)
    throw new LineError(
      "streaming_unsupported",
      "Streaming is not supported in the Batch API.",
      "body.stream",
    );
  return { customId, body };
}

function fieldsOf({ value, problem }: InputLine): Readonly<Record<string, unknown>> {
  if (problem !== undefined) throw new LineError("invalid_json_line", problem);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new LineError("invalid_json_line", "The line is not a JSON object.");
  return value as Record<string, unknown>;
}

function checkRequired(fields: Readonly<Record<string, unknown>>): void {
  for (const name of ["custom_id", "method", "url", "body"]) {
    if (fields[name] === undefined || fields[name] === null)
      throw new LineError(
        "missing_required_parameter",
        `Missing required parameter: '${name}'.`,
        name,
      );
  }
}
