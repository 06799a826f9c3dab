/** Whatever fails while a response is written, its one owner releases what the request holds. */
import { afterEach, expect, spyOn, test } from "bun:test";
import { IdempotencyStore } from "../../server/idempotency/idempotency-store.ts";
import { IdempotentRequest } from "../../server/idempotency/idempotent-request.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { PipelineServices } from "../../server/pipeline/dependencies.ts";
import type { Endpoint } from "../../server/pipeline/endpoint.ts";
import { createPipeline } from "../../server/pipeline/handle-request.ts";
import type { RequestLifetime } from "../../server/pipeline/request-lifetime.ts";
import { writeReplay } from "../../server/pipeline/write-response.ts";
import type { StreamedResponseBody } from "../../server/request/http-types.ts";
import type { Send } from "../../server/request/stage.ts";
import type { ResponseStore } from "../../server/storage/ports/response-store.ts";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type { GenerationQuery } from "../../server/upstream/contract.ts";
import { until } from "../until.ts";
import { createServices, incoming, snapshotWith } from "./pipeline-fixture.ts";

const restores: (() => void)[] = [];
afterEach(() => {
  for (const restore of restores.splice(0)) restore();
});

/** Counts the abort listeners of a client's signal. */
function countListeners(signal: AbortSignal): () => number {
  const listeners = new Set<unknown>();
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (type: string, listener: EventListener, options?: object) => {
    listeners.add(listener);
    addEventListener.call(signal, type, listener, options);
  };
  signal.removeEventListener = (type: string, listener: EventListener) => {
    listeners.delete(listener);
    removeEventListener.call(signal, type, listener);
  };
  return () => listeners.size;
}

const unused = (): never => {
  throw new Error("not used");
};

type Written = Awaited<ReturnType<Endpoint<GenerationQuery, string>["write"]>>;

/** Image requests with an Idempotency-Key, whose response is `written`. */
function openPipeline(
  written: () => Written,
  more: Partial<PipelineServices> & { readonly responses?: ResponseStore } = {},
) {
  const { services, rows, internalErrors } = createServices(snapshotWith("image"));
  const state = { cleared: 0, sent: 0, canceled: 0, storageErrors: [] as unknown[] };
  const noResponses: ResponseStore = {
    ensureSpace: () => undefined,
    begin: unused,
    find: async () => undefined,
  };
  const { serve, inFlight } = createPipeline({
    ...services,
    createTemp: () => ({ ...noRequestTemp, clear: async () => void state.cleared++ }),
    idempotencyStore: new IdempotencyStore(more.responses ?? noResponses, (error) =>
      state.storageErrors.push(error),
    ),
    onDisconnect: "finish",
    ...more,
  });
  const endpoint = {
    operation: "generations",
    kind: "image",
    read: async () => ({
      query: { model: "m", prompt: "a", stream: true, options: {}, extraFields: {} },
    }),
    write: async () => written(),
  } as unknown as Endpoint<GenerationQuery, string>;
  const client = new AbortController();
  const listeners = countListeners(client.signal);
  const send: Send<GenerationQuery, string> = async ({ signal }) => {
    state.sent++;
    signal().addEventListener("abort", () => state.canceled++);
    return "images";
  };
  const headers = new Headers({ authorization: "Bearer sk-test", "idempotency-key": "order-1" });
  const request = () => serve(endpoint, send, { ...incoming, headers, signal: client.signal });
  return { request, rows, internalErrors, inFlight, state, client, listeners };
}

/** An endless stream of events that counts how often it is closed. */
function openEvents() {
  const events = { closed: 0 };
  async function* generate() {
    try {
      for (;;) {
        yield { body: "data: {}\n\n", mayBeLast: false };
        await Bun.sleep(1);
      }
    } finally {
      events.closed++;
    }
  }
  const written = (): Written => ({
    kind: "stream",
    chunks: generate(),
    usage: () => undefined,
    deviations: () => ({}),
  });
  return { events, written };
}

test("a stream that cannot be recorded is closed, and its request gives everything back", async () => {
  const { events, written } = openEvents();
  const { request, rows, inFlight, state, listeners, internalErrors } = openPipeline(written);
  const spy = spyOn(IdempotentRequest.prototype, "recordStream").mockImplementation(() => {
    throw new GatewayError("storage_unavailable", "no");
  });
  restores.push(() => spy.mockRestore());
  expect((await request()).status).toBe(503);
  expect(rows).toEqual([expect.objectContaining({ status: 503, error: "storage_unavailable" })]);
  await until(() => events.closed === 1);
  expect([inFlight(), state.cleared, state.canceled, listeners()]).toEqual([0, 1, 1, 0]);
  // The claim of the Idempotency-Key was released with the error: the next request is sent.
  spy.mockRestore();
  const second = await request();
  expect([second.status, state.sent]).toEqual([200, 2]);
  await (second.body as AsyncIterable<string>)[Symbol.asyncIterator]().return?.();
  expect(internalErrors).toEqual([]);
});

test("a stream whose recording cannot be stored is sent, and its request gives everything back", async () => {
  async function* events() {
    yield { body: "data: {}\n\n", mayBeLast: true };
  }
  const written = (): Written => ({
    kind: "stream",
    chunks: events(),
    usage: () => undefined,
    deviations: () => ({}),
  });
  let discarded = 0;
  const { request, rows, inFlight, state, listeners } = openPipeline(written, {
    responses: {
      ensureSpace: () => undefined,
      begin: () => ({
        append: () => undefined,
        commit: () => Promise.reject(new Error("ENOSPC")),
        discard: async () => void discarded++,
      }),
      find: async () => undefined,
    },
  });
  const response = await request();
  const chunks = await Array.fromAsync(response.body as AsyncIterable<string>);
  expect(chunks.join("")).toBe("data: {}\n\n");
  expect(rows).toEqual([expect.objectContaining({ status: 200 })]);
  // Discarded: the response, and the mark for retries in its place.
  expect([inFlight(), state.cleared, discarded, listeners()]).toEqual([0, 1, 2, 0]);
  expect(state.storageErrors).toHaveLength(1);
});

const streamedJson = (state: { opened: number }) => ({
  length: 2,
  open: async function* () {
    state.opened++;
    yield Buffer.from("{}");
  },
});

test("a response whose ledger row cannot be written leaves no listener, and a disconnect after it stores nothing", async () => {
  const opened = { opened: 0 };
  const body = streamedJson(opened) as unknown as StreamedResponseBody;
  const written = (): Written => ({ kind: "buffered", body, usage: undefined });
  const full = new GatewayError("ledger_unavailable", "no");
  const { request, inFlight, state, client, listeners, internalErrors } = openPipeline(written, {
    ledger: { admit: () => undefined, settle: () => Promise.reject(full) },
  });
  expect((await request()).status).toBe(503);
  expect([inFlight(), state.cleared, listeners()]).toEqual([0, 1, 0]);
  const openedBefore = opened.opened;
  client.abort();
  await Bun.sleep(1);
  expect(opened.opened).toBe(openedBefore);
  expect(internalErrors).toEqual([]);
});

test("a replay whose ledger row cannot be written ends its delivery as incomplete", async () => {
  const closed: boolean[] = [];
  const lifetime = {
    record: { cost: {} },
    clearFiles: async () => undefined,
    settle: () => Promise.reject(new GatewayError("ledger_unavailable", "no")),
  } as unknown as RequestLifetime;
  const close = async (isComplete: boolean): Promise<void> => void closed.push(isComplete);
  const body = { length: 0, open: unused, close };
  await expect(writeReplay(lifetime, { headers: {}, body })).rejects.toThrow("no");
  expect(closed).toEqual([false]);
});
