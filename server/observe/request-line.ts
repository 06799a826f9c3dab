/** One line for each call: who, what, where, how long. Never what was said. */
import type { ErrorKind } from "../../contract/errors.ts";
import type { Fields } from "./log.ts";

/** What a line is made from; the request record has all of it. */
export interface RequestLogRecord {
  readonly requestId: string;
  readonly endpoint: string;
  readonly model?: string | undefined;
  readonly caller?: { readonly name: string } | undefined;
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
  readonly usage?:
    | { readonly inputTokens?: number; readonly outputTokens?: number; readonly images?: number }
    | undefined;
}

/** Its name is not told: what a caller sends as one may be a key or a prompt. */
const unknown = "model_not_found" satisfies ErrorKind;

export const requestLine = (told: RequestLogRecord): Fields => ({
  status: told.outcome.status,
  endpoint: told.endpoint,
  model: told.model ?? (told.outcome.error === unknown ? "(unknown)" : undefined),
  key: told.caller?.name,
  upstream: told.routing.target?.upstream.id,
  durationMs: Math.round(told.outcome.latencyMs * 10) / 10,
  attempts: told.routing.attempts > 1 ? told.routing.attempts : undefined,
  error: told.outcome.error,
  inputTokens: told.usage?.inputTokens,
  outputTokens: told.usage?.outputTokens,
  images: told.usage?.images,
  cost: told.cost.actual,
  steps: told.steps?.join("; "),
  bytesIn: told.outcome.bytesIn,
  bytesOut: told.outcome.bytesOut,
  requestId: told.requestId,
});
