/**
 * Reports each request after it has ended: its log line with key, model, upstream, duration, usage and the address of
 * the client, and never its content.
 */
import type { ErrorKind } from "../../contract/errors.ts";
import { errorStack } from "../lib/error-code.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import type { Fields, Log } from "../lib/log.ts";
import { recordedVendorMessage } from "../request/recorded-message.ts";
import type { RequestRecord } from "../request/request-record.ts";

/** The name of an unknown model is not logged: clients send API keys and prompts in its place. */
const unknownModel = "model_not_found" satisfies ErrorKind;

const requestLine = (record: RequestRecord, error: GatewayError | undefined): Fields => ({
  status: record.outcome.status,
  endpoint: record.endpoint,
  model: record.model ?? (record.outcome.error === unknownModel ? "(unknown)" : undefined),
  key: record.caller?.name,
  priority: record.priority === "batch" ? record.priority : undefined,
  upstream: record.routing.target?.upstream.id,
  durationMs: Math.round(record.outcome.latencyMs * 10) / 10,
  attempts: record.routing.attempts > 1 ? record.routing.attempts : undefined,
  error: record.outcome.error,
  inputTokens: record.usage?.inputTokens,
  outputTokens: record.usage?.outputTokens,
  images: record.deliveredImages,
  cost: record.knownCost,
  steps: record.steps?.join("; "),
  bytesIn: record.outcome.bytesIn,
  bytesOut: record.outcome.bytesOut,
  clientAddress: record.clientAddress,
  requestId: record.requestId,
  traceId: record.trace?.traceId,
  reason: error && reasonOf(error),
});

/** The detail for operators, or the upstream's own error response. */
function reasonOf({ details: { logDetail, upstream } }: GatewayError): string | undefined {
  if (logDetail !== undefined || !upstream) return logDetail;
  const { status, code = "", message } = upstream;
  const about = `HTTP ${status} ${code}`.trim();
  return message ? `${about}: ${recordedVendorMessage(message)}` : about;
}

/** Called with each request after it has ended. */
export type RequestObserver = (record: RequestRecord) => void;

/** `observers`: such as metrics and traces. */
export const reportRequests =
  (log: Log, observers: ReadonlySet<RequestObserver>) =>
  (record: RequestRecord, error?: GatewayError): void => {
    const level = record.outcome.status >= 500 ? "warn" : "info";
    if (log.writes(level)) log[level]("request", requestLine(record, error));
    if (error?.kind === "internal") logInternalError(log, record.requestId, error.cause);
    for (const observe of observers) observe(record);
  };

/** The stack trace goes to the log and never to a client. */
export function logInternalError(log: Log, requestId: string, error: unknown): void {
  log.error("internal-error", { requestId, error: errorStack(error) });
}
