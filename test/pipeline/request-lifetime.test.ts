/**
 * The request pipeline: a request without HTTP is limited, charged, timed out and accounted for like one that came over
 * HTTP.
 */
import { expect, test } from "bun:test";
import type { Key, Model } from "../../server/config/snapshot.ts";
import { brand } from "../../server/lib/branded.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { PipelineServices } from "../../server/pipeline/dependencies.ts";
import type { Endpoint, WriteContext } from "../../server/pipeline/endpoint.ts";
import { createPipeline } from "../../server/pipeline/handle-request.ts";
import type { Send } from "../../server/request/stage.ts";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type { EmbeddingsQuery, GenerationQuery } from "../../server/upstream/contract.ts";
import { targetNamed } from "../embeddings/stage-fixture.ts";
import { createServices, incoming, key, snapshotWith } from "./pipeline-fixture.ts";

const query: EmbeddingsQuery = {
  model: "m",
  input: { kind: "text", texts: ["a red boat"] },
  single: true,
  encoding: "base64",
  extraFields: {},
};
const caller = brand<Key, "authenticated">(key);

function openPipeline(requestsPerMinute: number, timeoutMs = 60_000) {
  const { services, rows, internalErrors } = createServices(
    snapshotWith("embedding", requestsPerMinute),
    timeoutMs,
  );
  const charged: string[] = [];
  const charging: PipelineServices["charging"] = {
    reserve: ({ record }) => {
      record.reservation = {
        ...{ estimate: 1, dollars: 1, isLikely: false },
        release: () => void charged.push(`released by ${record.requestId}`),
      };
      return undefined;
    },
    demand: () => undefined,
    logAttempt: () => undefined,
  };
  const { serve, execute, inFlight } = createPipeline({ ...services, charging });
  const run = (send: Send<EmbeddingsQuery, string>, signal = new AbortController().signal) =>
    execute({
      requestId: "req_1",
      caller,
      query,
      priority: "interactive",
      signal,
      endpoint: { operation: "embeddings", kind: "embedding" },
      send,
      usageOf: () => ({ inputTokens: 3 }),
      use: async (response) => `${response}!`,
    });
  const dispose = () => {
    expect(internalErrors).toEqual([]);
  };
  return { run, serve, rows, charged, inFlight, [Symbol.dispose]: dispose };
}

test("a request without HTTP returns its result, and its usage and cost are in the ledger", async () => {
  using pipeline = openPipeline(10);
  const send: Send<EmbeddingsQuery, string> = async ({ report }) => {
    report.addCharge({ target: targetNamed("a"), billed: "yes", cost: 0.5 });
    return "vectors";
  };
  expect(await pipeline.run(send)).toBe("vectors!");
  const row = {
    requestId: "req_1",
    keyId: "k",
    model: "m",
    status: 200,
    inputTokens: 3,
    cost: 0.5,
  };
  expect(pipeline.rows).toEqual([expect.objectContaining(row)]);
  expect(pipeline.charged).toEqual(["released by req_1", "released by req_1"]);
  expect(pipeline.inFlight()).toBe(0);
});

test("a request without HTTP that fails has its error in the ledger and releases its reservation", async () => {
  using pipeline = openPipeline(10);
  const failure = new GatewayError("upstream_error", "no");
  await expect(pipeline.run(() => Promise.reject(failure))).rejects.toBe(failure);
  expect(pipeline.rows).toEqual([
    expect.objectContaining({ status: 502, error: "upstream_error" }),
  ]);
  expect(pipeline.charged).toEqual(["released by req_1", "released by req_1"]);
  expect(pipeline.inFlight()).toBe(0);
});

const untilAborted: Send<EmbeddingsQuery, string> = ({ signal }) =>
  new Promise((_, reject) => signal().addEventListener("abort", () => reject(signal().reason)));

test("a request without HTTP ends at its timeout", async () => {
  using pipeline = openPipeline(10, 1);
  await expect(pipeline.run(untilAborted)).rejects.toMatchObject({ kind: "upstream_timeout" });
  expect(pipeline.rows.map(({ error }) => error)).toEqual(["upstream_timeout"]);
  expect(pipeline.inFlight()).toBe(0);
});

test("a response that takes long to write is not continued after its client has disconnected", async () => {
  using pipeline = openPipeline(10);
  const client = new AbortController();
  let steps = 0;
  function* endless(): Generator<void, never> {
    for (;;) {
      steps++;
      client.abort();
      yield;
    }
  }
  const endpoint = {
    operation: "embeddings",
    kind: "embedding",
    read: async () => ({ query }),
    write: (_response: string, _query: EmbeddingsQuery, context: () => WriteContext) =>
      context().runInSteps(endless()),
  } as unknown as Endpoint<EmbeddingsQuery, string>;
  const request = { ...incoming, signal: client.signal };
  const response = await pipeline.serve(endpoint, async () => "vectors", request);
  expect([response.status, steps]).toEqual([499, 1]);
  expect(pipeline.rows.map(({ error }) => error)).toEqual(["client_closed"]);
  expect(pipeline.inFlight()).toBe(0);
});

test("an HTTP request whose error response cannot be written releases its resources, and is in the ledger", async () => {
  using pipeline = openPipeline(10);
  const endpoint = {
    operation: "embeddings",
    kind: "embedding",
    read: async () => ({ query }),
    withClientFieldNames: () => {
      throw bug;
    },
  } as unknown as Endpoint<EmbeddingsQuery, string>;
  const failing = () => Promise.reject(new GatewayError("upstream_error", "no"));
  await expect(pipeline.serve(endpoint, failing, incoming)).rejects.toBe(bug);
  expect(pipeline.rows).toEqual([expect.objectContaining({ status: 500, error: "internal" })]);
  expect(pipeline.charged).toEqual(["released by req_1", "released by req_1"]);
  expect(pipeline.inFlight()).toBe(0);
});

const bug = new Error("the error cannot be written");
const imageQuery = { model: "m", prompt: "a", stream: false, options: {}, extraFields: {} };
/** An image endpoint that cannot write an error response. */
const imageEndpoint = {
  operation: "generations",
  kind: "image",
  read: async () => ({ query: imageQuery }),
  withClientFieldNames: () => {
    throw bug;
  },
} as unknown as Endpoint<GenerationQuery, string>;

test("an image request whose error response cannot be written gives its Idempotency-Key back", async () => {
  const { services, internalErrors } = createServices(snapshotWith("image"));
  const { serve } = createPipeline(services);
  const headers = new Headers({ authorization: "Bearer sk-test", "idempotency-key": "order-1" });
  let sent = 0;
  const failing = () => {
    sent++;
    return Promise.reject(new GatewayError("upstream_error", "no"));
  };
  await expect(serve(imageEndpoint, failing, { ...incoming, headers })).rejects.toBe(bug);
  expect(await services.idempotencyStore.findById("k", "req_1")).toBe(undefined);
  await expect(serve(imageEndpoint, failing, { ...incoming, headers })).rejects.toBe(bug);
  expect(sent).toBe(2);
  expect(internalErrors).toEqual([]);
});

/** Image requests of a model that stores content, with an endpoint that cannot write an error response. */
function serveFailingImage() {
  const snapshot = snapshotWith("image");
  const model = { ...snapshot.models.get("m"), storeContentMs: 1000 } as Model;
  const { services, rows, internalErrors } = createServices({
    ...snapshot,
    models: new Map([["m", model]]),
  });
  const closed: string[] = [];
  const { serve, inFlight } = createPipeline({
    ...services,
    createTemp: () => ({ ...noRequestTemp, clear: async () => void closed.push("temp") }),
    content: {
      begin: () => ({
        append: () => undefined,
        commit: () => closed.push("content committed"),
        discard: () => closed.push("content discarded"),
      }),
      onNotStored: (_id, error) => internalErrors.push(error),
    },
  });
  const failing = async () => {
    throw new GatewayError("upstream_error", "no");
  };
  const expectClosed = (...expected: string[]) => {
    expect(rows).toEqual([expect.objectContaining({ status: 500, error: "internal" })]);
    expect(closed.sort()).toEqual(expected);
    expect(inFlight()).toBe(0);
    expect(internalErrors).toEqual([]);
  };
  return { response: serve(imageEndpoint, failing, incoming), expectClosed };
}

test("an image request whose error response cannot be written closes its temp storage and content", async () => {
  const { response, expectClosed } = serveFailingImage();
  await expect(response).rejects.toBe(bug);
  expectClosed("content discarded", "temp");
});

test("a request whose trace cannot be started gets an error and gives its slot back", async () => {
  const { services } = createServices(snapshotWith("image"));
  const startTrace = () => {
    throw new Error("no trace");
  };
  const { serve, inFlight } = createPipeline({ ...services, startTrace });
  const endpoint = { ...imageEndpoint, withClientFieldNames: (error: GatewayError) => error };
  expect((await serve(endpoint, async () => "images", incoming)).status).toBe(500);
  expect(inFlight()).toBe(0);
});

test("an image request without HTTP is not sent if there is no space for its response", async () => {
  const { services, rows } = createServices(snapshotWith("image"));
  const full = new GatewayError("overloaded", "no space");
  const ensureSpace = () => {
    throw full;
  };
  const { execute, inFlight } = createPipeline({
    ...services,
    createTemp: () => ({ ...noRequestTemp, ensureSpace }),
  });
  let sent = 0;
  const run = execute({
    requestId: "req_1",
    caller,
    query: imageQuery,
    priority: "batch",
    signal: new AbortController().signal,
    endpoint: { operation: "generations", kind: "image" },
    send: async () => sent++,
    usageOf: () => undefined,
    use: async (response) => response,
  });
  await expect(run).rejects.toBe(full);
  expect(sent).toBe(0);
  expect(rows).toEqual([expect.objectContaining({ error: "overloaded" })]);
  expect(inFlight()).toBe(0);
});

test("a request that the load shedder refuses holds no slot while its ledger row is written", async () => {
  const { services } = createServices(snapshotWith("embedding"));
  const written = Promise.withResolvers<"settled">();
  const { serve, inFlight } = createPipeline({
    ...services,
    maxConcurrent: { requests: 0, connections: 10_000 },
    ledger: { admit: () => undefined, settle: () => written.promise },
  });
  const endpoint = { operation: "embeddings", kind: "embedding" };
  const refused = serve(
    endpoint as unknown as Endpoint<EmbeddingsQuery, string>,
    async () => "vectors",
    incoming,
  );
  await Bun.sleep(0);
  expect(inFlight()).toBe(0);
  written.resolve("settled");
  expect((await refused).status).toBe(503);
  expect(inFlight()).toBe(0);
});
