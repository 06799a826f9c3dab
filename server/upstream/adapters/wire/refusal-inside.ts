/** A refusal in an answer whose status says yes: proxies and servers of one's own send them. It means what it says. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { Adapter, ErrorContext, UpstreamResponse } from "../../adapter.ts";
import { asObject, isCount } from "./members.ts";
import { redact } from "./redact.ts";
import { readAgain, readRefusal } from "./refusal.ts";
import { statusSaid } from "./upstream-fault.ts";
import { wordsIn } from "./words.ts";

/** `error`: why the answer could not be read. Never resolves; rejects with the same where nothing else was said. */
export async function saidInside(
  error: unknown,
  reply: UpstreamResponse,
  adapter: Adapter,
  context: ErrorContext,
): Promise<never> {
  if (!(error instanceof GatewayError) || error.fault !== "upstream_invalid") throw error;
  const body = asObject(await readRefusal(reply));
  const words = body && wordsIn(body);
  // An answer that is merely untrue may have a `message` too, such as "success".
  if (!body || words === undefined || hasVectors(body)) throw error;
  const status = statusIn(body);
  const said = await adapter.readError(readAgain(reply, body, status ?? 500), context);
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
    statusSaid(body)
  );
}

const isFailure = (status: number): boolean => status >= 400 && status <= 599;
