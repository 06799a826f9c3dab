/** What happened to one request: gathered along the way, settled as one ledger row. */

import type { Target } from "../upstream/contract.ts";
import type { LedgerRow } from "../usage/ledger.ts";
import type { Caller } from "./authenticate.ts";
import type { Usage } from "./endpoint.ts";

export class Trip {
  readonly requestId: string;
  readonly endpoint: string;
  /** Unix milliseconds. */
  readonly at: number;
  caller: Caller | undefined;
  model: string | undefined;
  target: Target | undefined;
  attempts = 0;
  /** How many calls travelled to the upstream as one, where this one waited for others. */
  batched: number | undefined;
  usage: Usage | undefined;
  /** Of an embeddings call: what the caller asked for. */
  inputs = 0;
  /** Of these, not asked of an upstream by this call: known, asked already by another, or there twice. */
  cachedInputs = 0;
  /** What the upstream counted for this call. 0 where it was not asked; undefined where it does not say. */
  upstreamTokens: number | undefined;
  /** Fields of the caller's that were served in another way than by passing them on. */
  adapted: readonly string[] | undefined;
  /** Fields that make no difference to the model, and were left out. */
  dropped: readonly string[] | undefined;
  bytesIn = 0;
  bytesOut = 0;
  status = 0;
  fault: string | undefined;
  latencyMs = 0;

  constructor(requestId: string, endpoint: string, at: number) {
    this.requestId = requestId;
    this.endpoint = endpoint;
    this.at = at;
  }

  attempt(target: Target): void {
    this.target = target;
    this.attempts++;
  }

  row(caller: Caller): LedgerRow {
    return {
      requestId: this.requestId,
      at: this.at,
      endpoint: this.endpoint,
      keyId: caller.id,
      model: this.model ?? null,
      upstream: this.target?.upstream.id ?? null,
      targetModel: this.target?.model ?? null,
      attempts: this.attempts,
      status: this.status,
      fault: this.fault ?? null,
      latencyMs: this.latencyMs,
      inputTokens: this.usage?.inputTokens ?? null,
      outputTokens: this.usage?.outputTokens ?? null,
      images: this.usage?.images ?? null,
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
      knownInputs: this.inputs > 0 ? this.cachedInputs : null,
      upstreamTokens: this.inputs > 0 ? (this.upstreamTokens ?? null) : null,
    };
  }
}
