/** A failed cleanup of request temp storage fails neither the response nor its ledger row. */
import { expect, test } from "bun:test";
import type { Model, Snapshot } from "../../server/config/snapshot.ts";
import { IdempotencyStore } from "../../server/idempotency/idempotency-store.ts";
import { createLinkStore } from "../../server/images/image-links.ts";
import type { LedgerRow } from "../../server/ledger/ledger.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { keyHash } from "../../server/lib/key-hash.ts";
import { noRequestTemp } from "../../server/lib/request-temp.ts";
import type { ResponseStore } from "../../server/lib/response-store.ts";
import { Admission } from "../../server/limits/admission.ts";
import type { Endpoint } from "../../server/pipeline/endpoint.ts";
import { createServe } from "../../server/pipeline/serve.ts";
import { createDeadlines } from "../../server/request/deadline.ts";
import type { IncomingRequest } from "../../server/request/http-types.ts";
import type { GenerationQuery } from "../../server/upstream/contract.ts";

const hash = keyHash("sk-test");
const model = { id: "m", kind: "image", targets: [], maxImages: 1 } as unknown as Model;
const snapshot = {
  models: new Map([["m", model]]),
  keys: new Map([[hash, { id: "k", name: "k", hash, models: ["*"], source: "file" }]]),
} as unknown as Snapshot;
const stuck = new Error("the file will not close");
const endpoint = {
  operation: "generations",
  kind: "image",
  read: async () => ({ query: { model: "m", options: {} }, dispose: () => Promise.reject(stuck) }),
  write: () => ({ kind: "buffered", body: "{}", usage: undefined }),
} as unknown as Endpoint<GenerationQuery, string>;
const incoming = {
  requestId: "req_1",
  headers: new Headers({ authorization: "Bearer sk-test" }),
  signal: new AbortController().signal,
  bytesReceived: 0,
  releaseBody: () => undefined,
} as unknown as IncomingRequest;

const noShelf: ResponseStore = {
  begin: () => {
    throw stuck;
  },
  find: async () => undefined,
};

const outcomes: readonly [string, () => Promise<string>, number][] = [
  ["a response", async () => "images", 200],
  ["an error response", () => Promise.reject(new GatewayError("upstream_error", "no")), 502],
];

test.each(outcomes)(
  "%s is sent and in the ledger, and no request stays in flight",
  async (_, send, status) => {
    const rows: LedgerRow[] = [];
    const defects: unknown[] = [];
    const deadlines = createDeadlines(() => 0);
    const { serve, inFlight } = createServe({
      snapshot: () => snapshot,
      ledger: {
        admit: () => undefined,
        settle: async (row) => {
          rows.push(row);
          return "settled";
        },
      },
      links: createLinkStore({ store: async () => "", download: () => Promise.reject(stuck) }),
      report: () => undefined,
      onInternalError: (_id, error) => defects.push(error),
      startDeadline: deadlines.start,
      timeoutMs: { embedding: 1000, image: 1000 },
      admission: new Admission({
        snapshot: () => snapshot,
        maxImageRequests: 10,
        maxWaiting: 0,
        queueTimeoutMs: { embedding: 0, image: 0 },
        clock: () => 0,
        repeat: () => () => undefined,
      }),
      maxConcurrent: { all: 10, image: 10 },
      charging: { begin: () => undefined, end: () => undefined },
      onDisconnect: "cancel",
      keepAliveMs: 0,
      createTemp: () => noRequestTemp,
      idempotencyStore: new IdempotencyStore(noShelf, (error) => defects.push(error)),
      streamTimes: { firstEventMs: 1, heartbeatMs: 1 },
      clock: () => 0,
      now: () => 0,
    });
    const response = await serve(endpoint, send, incoming);
    deadlines.close();
    expect(response.status).toBe(status);
    expect(rows).toEqual([expect.objectContaining({ requestId: "req_1", status })]);
    expect(inFlight()).toBe(0);
    expect(defects).toEqual([stuck]);
  },
);
