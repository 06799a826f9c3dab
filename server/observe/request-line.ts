/** The request log line (access log): key, model, upstream, duration and usage of each request. Never its content. */
import type { ErrorKind } from "../../contract/errors.ts";
import type { Fields } from "./log.ts";

/** The members of the request record that the line is made from. */
export interface RequestLogRecord {
  readonly requestId: string;
  readonly endpoint: string;
  readonly model?: string | undefined;
  readonly caller?: { readonly name: string } | undefined;
  readonly priority?: "interactive" | "batch";
  readonly steps?: readonly string[] | undefined;
  readonly routing: {
    readonly attempts: number;
    readonly target?: { readonly upstream: { readonly id: string } } | undefined;
  };
  readonly cost: { readonly actual?: number | undefined };
  readonly outcome: {
    readonly status: number;
    readonly error?: string | undefined;
    readonly latencyMs: number;
    readonly bytesIn: number;
    readonly bytesOut: number;
  };
  readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number } | undefined;
  readonly deliveredImages?: number | undefined;
  readonly trace?: { readonly traceId: string } | undefined;
}

/** The name of an unknown model is not logged: clients send API keys and prompts in its place. */
const unknownModel = "model_not_found" satisfies ErrorKind;

export const requestLine = (record: RequestLogRecord): Fields => ({
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
  cost: record.cost.actual,
  steps: record.steps?.join("; "),
  bytesIn: record.outcome.bytesIn,
  bytesOut: record.outcome.bytesOut,
  requestId: record.requestId,
  traceId: record.trace?.traceId,
});
