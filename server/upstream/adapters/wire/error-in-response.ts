/**
 * Detects an error in a 200 response (any 2xx status), as proxies and self-hosted servers send, and maps it as an
 * error.
 */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { Adapter, ErrorContext, UpstreamResponse } from "../../adapter.ts";
import { messageIn, readErrorBody, redact, replayBody } from "./error-body.ts";
import { asObject, isCount } from "./members.ts";
import { statusInBody } from "./openai-errors.ts";

/**
 * `error`: why the response could not be read. Always rejects: with the error inside the response, or else with
 * `error`.
 */
export async function throwErrorInside(
  error: unknown,
  response: UpstreamResponse,
  adapter: Adapter,
  context: ErrorContext,
): Promise<never> {
  if (!(error instanceof GatewayError) || error.kind !== "upstream_invalid") throw error;
  const body = asObject(await readErrorBody(response));
  const message = body && messageIn(body);
  // A response with invalid results may have a `message` too, such as "success".
  if (!body || message === undefined || hasResults(body)) throw error;
  const status = statusIn(body);
  const mapped = await adapter.readError(replayBody(response, body, status ?? 500), context);
  if (status !== undefined || mapped.kind !== "upstream_error") throw mapped;
  throw new GatewayError(
    "upstream_error",
    `The upstream reported an error in its response: ${redact(message, context)}`,
  );
}

/** Vectors or images, whatever the vendor calls the list. */
const hasResults = (body: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(body).some(
    ([name, list]) => Array.isArray(list) && list.length > 0 && !errorLists.has(name),
  );

/** Error fields of Cloudflare, Stability and FastAPI. */
const errorLists: ReadonlySet<string> = new Set(["errors", "detail"]);

/**
 * The status in the body, whatever its field is called: `error.code` at OpenRouter and Google, `status_code` in
 * FastAPI.
 */
function statusIn(body: Readonly<Record<string, unknown>>): number | undefined {
  const error = asObject(body.error) ?? {};
  const candidates = [error.code, error.status, error.status_code, body.code, body.status];
  return (
    [...candidates, body.status_code]
      .map(Number)
      .find((code) => isCount(code) && isFailure(code)) ?? statusInBody(body)
  );
}

const isFailure = (status: number): boolean => status >= 400 && status <= 599;
