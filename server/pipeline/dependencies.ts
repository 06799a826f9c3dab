/** What the request pipeline needs from the rest of the server. */

import type { Attribution } from "../attribution/attribution.ts";
import type { RequestCharging } from "../budgets/charge-request.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { IdempotencyStore } from "../idempotency/idempotency-store.ts";
import type { LinkStores } from "../images/image-links.ts";
import type { LedgerRow, Settled } from "../ledger/ledger.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import type { Admission } from "../limits/admission.ts";
import type { ResponseMemory } from "../limits/response-memory.ts";
import type { Caller, PermittedModel } from "../request/caller.ts";
import type { AdmittedImages } from "../request/deadline.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import type { RequestRecord } from "../request/request-record.ts";
import type { StartTrace } from "../request/request-trace.ts";
import type { RequestTemp } from "../temp-storage/request-temp.ts";
import type { GenerationQuery } from "../upstream/contract.ts";
import type { Endpoint } from "./endpoint.ts";
import type { ContentRecording } from "./record-content.ts";
import type { StreamTimes } from "./stream-response.ts";

/** An image request whose response is fetched later. */
export interface JobSubmission {
  readonly endpoint: Pick<Endpoint<GenerationQuery, unknown>, "operation">;
  readonly incoming: IncomingRequest;
  readonly caller: Caller;
  readonly model: PermittedModel;
  readonly query: GenerationQuery;
}

export interface PipelineServices {
  /** The tags and the end user of requests, with their limits and budgets. */
  readonly attribution: Pick<Attribution, "attribute" | "limit">;
  readonly snapshot: () => Snapshot;
  /** The id of this process, for ledger rows. */
  readonly replica: string;
  readonly ledger: { admit(): void; settle(row: LedgerRow): Promise<Settled> };
  readonly links: LinkStores;
  /** Responses of image requests, for identical requests. */
  readonly idempotencyStore: IdempotencyStore;
  /** The image requests that the gateway finishes before it stops. */
  readonly admittedImages: AdmittedImages;
  /** Aborted when the gateway closes: ends the image requests that are still in flight. */
  readonly closing: AbortSignal;
  /** Starts the trace of an HTTP request. If absent, tracing is off. */
  readonly startTrace?: StartTrace | undefined;
  /** Logs, counts and traces each request after it has ended. */
  readonly report: (record: RequestRecord, error?: GatewayError) => void;
  /** Logs an internal error that does not change the response. */
  readonly onInternalError: (requestId: string, error: unknown) => void;
  /** Request temp storage, charged to an API key's share. */
  readonly createTemp: (keyId: string) => RequestTemp;
  readonly timeoutMs: { readonly embedding: number; readonly image: number };
  /** Rate limits and concurrency slots. */
  readonly admission: Admission;
  /** The memory of large responses. */
  readonly responseMemory: ResponseMemory;
  /** Budgets: reservation and settlement. */
  readonly charging: RequestCharging;
  /** The limits of requests in flight, queued requests included, and of client connections. */
  readonly maxConcurrent: { readonly requests: number; readonly connections: number };
  readonly streamTimes: StreamTimes;
  /** Accepts a job. Rejects with GatewayError. If absent, there are no jobs. */
  readonly submitJob?: (submission: JobSubmission) => Promise<OutgoingResponse>;
  /** Stores the content of requests, for models with `storeContent`. */
  readonly content: ContentRecording;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Unix milliseconds. */
  readonly now: () => number;
}
