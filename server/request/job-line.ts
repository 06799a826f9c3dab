/** What the pipeline needs to know of a request that is a line of a job. */
import type { UpstreamRequest, UpstreamResponse } from "../upstream/adapter.ts";
import type { Target } from "../upstream/contract.ts";
import type { SendRecord } from "../upstream/poll-job.ts";

export interface JobLineContext extends SendRecord {
  readonly priority: "interactive" | "batch";
  /**
   * Every process reserves the cost of the line already, in the budgets of its key and its project. False: it is reserved
   * before the line is sent.
   */
  readonly isReserved: boolean;
  /** An upstream request was sent, or was about to be, also by an earlier process. */
  readonly wasSent: boolean;
  /** The batch of a vendor has run the line. Undefined: it is sent now. */
  readonly vendor: VendorLine | undefined;
  /** The request fingerprint of the job's submission. Undefined: it has no Idempotency-Key. */
  readonly fingerprint: string | undefined;
  /** At the end of the request. US dollars; undefined: unknown. */
  addCost(dollars: number | undefined): void;
  /** The targets that may serve the line: a line that is resumed has one. */
  permitted<C extends { readonly target: Target }>(candidates: readonly C[]): readonly C[];
}

/** A line that the batch of a vendor has run: its upstream requests get the vendor's results as their responses. */
export interface VendorLine {
  /** With the price of the vendor's batch. */
  readonly target: Target;
  /** The part of the usual price that is paid. */
  readonly priceFactor: number;
  /** The vendor's result is an error, or is wrong: the line is not tried again. */
  readonly isFinal: boolean;
  end(): void;
  /** `part`: which part of the line it is. Throws GatewayError if the vendor has no result for it, or several. */
  responseTo(request: UpstreamRequest, part: string): Promise<UpstreamResponse>;
}
