/** What the journey needs from the house. */

import type { RequestCharging } from "../budgets/charge-request.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { IdempotencyStore } from "../idempotency/idempotency-store.ts";
import type { LinkStoreFor } from "../images/image-links.ts";
import type { LedgerRow, Settled } from "../ledger/ledger.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import type { RequestTemp } from "../lib/request-temp.ts";
import type { Admission } from "../limits/admission.ts";
import type { StartDeadline } from "../request/deadline.ts";
import type { RequestRecord } from "../request/request-record.ts";
import type { StreamTimes } from "./stream-response.ts";

export interface ServeOptions {
  readonly snapshot: () => Snapshot;
  readonly ledger: { admit(): void; settle(row: LedgerRow): Promise<Settled> };
  readonly links: LinkStoreFor;
  /** Answers to paid calls, for those who ask again. */
  readonly kept: IdempotencyStore;
  /** What an image call whose caller leaves is worth, where its model does not say. */
  readonly onDisconnect: "finish" | "cancel";
  /** Silence after which a whole image answer begins with spaces. 0: never. */
  readonly keepAliveMs: number;
  /** Told how each call went, once it is over. */
  readonly report: (record: RequestRecord, error?: GatewayError) => void;
  /** Told of what went wrong without a caller having to suffer for it. */
  readonly onDefect: (requestId: string, error: unknown) => void;
  readonly startDeadline: StartDeadline;
  /** Request temp storage, charged to an API key's share. */
  readonly createTemp: (keyId: string) => RequestTemp;
  readonly timeoutMs: { readonly embedding: number; readonly image: number };
  /** Whether there is room, within what limits. */
  readonly admission: Admission;
  /** What calls may cost, and did. */
  readonly spending: RequestCharging;
  /** The most calls in hand at once, of all kinds and of image calls, those that wait among them. */
  readonly maxConcurrent: { readonly all: number; readonly image: number };
  readonly streamTimes: StreamTimes;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Unix milliseconds. */
  readonly now: () => number;
}
