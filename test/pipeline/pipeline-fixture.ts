/** The services of a request pipeline for tests: without HTTP, storage or upstreams. */
import type { Key, Model, Snapshot } from "../../server/config/snapshot.ts";
import { IdempotencyStore } from "../../server/idempotency/idempotency-store.ts";
import { createLinkStores } from "../../server/images/image-links.ts";
import type { LedgerRow } from "../../server/ledger/ledger.ts";
import { secretHash } from "../../server/lib/secret-hash.ts";
import { realTimers } from "../../server/lib/timers.ts";
import { Admission } from "../../server/limits/admission.ts";
import { localRateLimitCounters } from "../../server/limits/rate-limit-counters.ts";
import { ResponseMemory } from "../../server/limits/response-memory.ts";
import type { PipelineServices } from "../../server/pipeline/dependencies.ts";
import { AdmittedImages } from "../../server/request/deadline.ts";
import type { IncomingRequest } from "../../server/request/http-types.ts";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";

const hash = secretHash("sk-test");

/** The key of `incoming`. */
export const key = {
  id: "k",
  name: "k",
  models: ["*"],
  scopes: ["key:k"],
  budgets: [{ id: "key:k" }],
} as unknown as Key;

/** A request with the key. */
export const incoming = {
  requestId: "req_1",
  headers: new Headers({ authorization: "Bearer sk-test" }),
  signal: new AbortController().signal,
  bytesReceived: 0,
  releaseBody: () => undefined,
} as unknown as IncomingRequest;

/** One model "m" without targets, and one key. */
export const snapshotWith = (kind: Model["kind"], requestsPerMinute = 10): Snapshot =>
  ({
    models: new Map([["m", { id: "m", kind, targets: [], maxImages: 1, onDisconnect: "cancel" }]]),
    keys: new Map([[hash, { ...key, hash, source: "yaml" }]]),
    limits: new Map([["key:k", { requestsPerMinute }]]),
  }) as unknown as Snapshot;

const unused = (): never => {
  throw new Error("not used");
};

export function createServices(snapshot: Snapshot, timeoutMs = 60_000) {
  const rows: LedgerRow[] = [];
  const internalErrors: unknown[] = [];
  const services: PipelineServices = {
    attribution: { attribute: () => undefined, limit: (caller) => caller },
    replica: "replica-1",
    snapshot: () => snapshot,
    ledger: {
      admit: () => undefined,
      settle: async (row) => {
        rows.push(row);
        return "settled";
      },
    },
    links: createLinkStores({ store: unused, download: unused }),
    report: () => undefined,
    onInternalError: (_id, error) => internalErrors.push(error),
    timeoutMs: { embedding: timeoutMs, image: timeoutMs },
    admission: new Admission({
      counters: localRateLimitCounters,
      snapshot: () => snapshot,
      maxImageRequests: 10,
      maxWaiting: 0,
      queueTimeoutMs: { embedding: 0, image: 0 },
      clock: () => 0,
      timers: realTimers,
    }),
    responseMemory: new ResponseMemory(1_000_000),
    maxConcurrent: { requests: 10, connections: 10_000 },
    charging: {
      reserve: () => undefined,
      demand: () => undefined,
      logAttempt: () => undefined,
    },
    admittedImages: new AdmittedImages(),
    closing: new AbortController().signal,
    createTemp: () => noRequestTemp,
    idempotencyStore: new IdempotencyStore(
      { ensureSpace: () => undefined, begin: unused, find: async () => undefined },
      unused,
    ),
    content: { begin: unused, onNotStored: unused },
    streamTimes: { firstEventMs: 1, heartbeatMs: 1 },
    clock: () => 0,
    now: () => 0,
  };
  return { services, rows, internalErrors };
}
