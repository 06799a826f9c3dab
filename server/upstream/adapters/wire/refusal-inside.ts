/** A refusal in an answer whose status says yes: proxies and servers of one's own send them. It means what it says. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { Adapter, ErrorContext, UpstreamResponse } from "../../adapter.ts";
import { asObject, isCount } from "./members.ts";
import { redact } from "./redact.ts";
import { readErrorBody, replayBody } from "./refusal.ts";
import { statusInBody } from "./upstream-fault.ts";
import { messageIn } from "./words.ts";

/** `error`: why the answer could not be read. Never resolves; rejects with the same where nothing else was said. */
export async function throwErrorInside(
  error: unknown,
  reply: UpstreamResponse,
  adapter: Adapter,
  context: ErrorContext,
): Promise<never> {
  if (!(error instanceof GatewayError) || error.fault !== "upstream_invalid") throw error;
  const body = asObject(await readErrorBody(reply));
  const words = body && messageIn(body);
  // An answer that is merely untrue may have a `message` too, such as "success".
  if (!body || words === undefined || hasVectors(body)) throw error;
  const status = statusIn(body);
  const said = await adapter.readError(replayBody(reply, body, status ?? 500), context);
  if (status !== undefined || said.fault !== "upstream_error") throw said;
  throw new GatewayError(
    "upstream_error",
    `The upstream failed, and said so in its answer: ${redact(words, context)}`,
  );
}

const hasVectors = ({ data, embeddings }: Readonly<Record<string, unknown>>): boolean =>
  [data, embeddings].some((list) => Array.isArray(list) && list.length > 0);

/** Under any of the names it has: OpenRouter's `error.code` and Google's are statuses, as is FastAPI's `status_code`. */
function statusIn(body: Readonly<Record<string, unknown>>): number | undefined {
  const error = asObject(body.error) ?? {};
  const places = [error.code, error.status, error.status_code, body.code, body.status];
  return (
    [...places, body.status_code].map(Number).find((code) => isCount(code) && isFailure(code)) ??
    statusInBody(body)
  );
}

const isFailure = (status: number): boolean => status >= 400 && status <= 599;
