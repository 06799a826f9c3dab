/** One line for each call: who, what, where, how long. Never what was said. */
import type { ErrorKind } from "../../contract/errors.ts";
import type { Fields } from "./log.ts";

/** What a line is made from; the gateway's trip has all of it. */
export interface Told {
  readonly requestId: string;
  readonly endpoint: string;
  readonly status: number;
  readonly latencyMs: number;
  readonly attempts: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly model?: string | undefined;
  readonly error?: string | undefined;
  readonly caller?: { readonly name: string } | undefined;
  readonly cost?: number | undefined;
  readonly steps?: readonly string[] | undefined;
  readonly target?: { readonly upstream: { readonly id: string } } | undefined;
  readonly usage?:
    | { readonly inputTokens?: number; readonly outputTokens?: number; readonly images?: number }
    | undefined;
}

/** Its name is not told: what a caller sends as one may be a key or a prompt. */
const unknown = "model_not_found" satisfies ErrorKind;

export const requestLine = (told: Told): Fields => ({
  status: told.status,
  endpoint: told.endpoint,
  model: told.model ?? (told.error === unknown ? "(unknown)" : undefined),
  key: told.caller?.name,
  upstream: told.target?.upstream.id,
  durationMs: Math.round(told.latencyMs * 10) / 10,
  attempts: told.attempts > 1 ? told.attempts : undefined,
  error: told.error,
  inputTokens: told.usage?.inputTokens,
  outputTokens: told.usage?.outputTokens,
  images: told.usage?.images,
  cost: told.cost,
  steps: told.steps?.join("; "),
  bytesIn: told.bytesIn,
  bytesOut: told.bytesOut,
  requestId: told.requestId,
});
