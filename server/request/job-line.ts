/** What the pipeline needs to know of a request that is a line of a job. */
import type { GatewayError } from "../lib/gateway-error.ts";
import type { UpstreamResponse } from "../upstream/adapter.ts";
import type { EmbeddingsQuery, GenerationQuery, Target } from "../upstream/contract.ts";
import type { SendRecord } from "../upstream/poll-operation.ts";
import type { PermittedModel } from "./caller.ts";

export interface JobLineContext extends SendRecord {
  readonly priority: "interactive" | "batch";
  /** Every process reserves the cost of the line already. False: it is reserved before the line is sent. */
  readonly isReserved: boolean;
  /** US dollars that every process reserves for the line already: the rest is reserved before it is sent. */
  readonly reservedPart?: number | undefined;
  /** An upstream request was sent, or was about to be, also by an earlier process. */
  readonly wasSent: boolean;
  /**
   * Upstream requests of an earlier process that this one did not await, and that may be billed: their estimated cost in
   * US dollars, if a price is known. Undefined if there are none.
   */
  readonly lost?: { readonly estimate: number | undefined } | undefined;
  /** The batch of a vendor has run the line. Undefined if it is sent now. */
  readonly vendor: VendorLine | undefined;
  /** The request fingerprint of the job's submission. Undefined if it has no Idempotency-Key. */
  readonly fingerprint: string | undefined;
  /** The request has ended. `dollars`: undefined if its cost is unknown. `error`: undefined if it succeeded. */
  requestEnded(
    dollars: number | undefined,
    error: { readonly code: string; readonly message: string } | undefined,
  ): void;
  /** The targets that may serve the line: a line that is resumed has one. */
  permitted<C extends { readonly target: Target }>(candidates: readonly C[]): readonly C[];
}

/** A line that the batch of a vendor has run: the requests that were sent have the vendor's results as responses. */
export interface VendorLine {
  /** As it was when the line was sent, with the price of the vendor's batch. */
  readonly target: Target;
  /** What the model was then, as far as it matters to the results. */
  readonly model: Pick<PermittedModel, "known" | "dimensions" | "tokenArrays" | "parameters">;
  /** When the vendor's batch ended, in Unix milliseconds: a second delivery has the same ledger row. */
  readonly at: number;
  /** The part of the usual price that is paid. */
  readonly priceFactor: number;
  /** The vendor's result is an error, or is wrong: the line is not tried again. */
  readonly isFinal: boolean;
  end(): void;
  /** In the order of their inputs. */
  readonly requests: readonly {
    readonly ids: readonly string[];
    readonly query: EmbeddingsQuery | GenerationQuery;
  }[];
  /** Throws GatewayError if the vendor has no result for it, or several. */
  responseTo(request: { readonly ids: readonly string[] }): Promise<UpstreamResponse>;
  /**
   * The result cannot be delivered: the estimate of the line is charged. Returns it, in US dollars. Undefined if it is
   * unknown.
   */
  chargeEstimate(error: GatewayError): Promise<number | undefined>;
}
