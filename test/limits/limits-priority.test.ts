/** Batch priority over HTTP: by a header or by the API key. */
import { describe, expect, test } from "bun:test";
import { until as waitUntil } from "../until.ts";
import { embedder, type Limited, limitedTests } from "./limits-fixture.ts";

const start = limitedTests();

/** `priority`: the value of the header. Undefined without it. */
const embed = ({ client }: Limited, key: string, input: string, priority?: string) =>
  client(key)
    .embeddings.create(
      { model: embedder, input },
      { headers: priority === undefined ? {} : { "vexel-priority": priority } },
    )
    .then(
      () => "served",
      ({ status, code, param, message }) => ({ status, code, param, message }),
    );

/** One slot that a slow request holds; then batch and interactive requests queue for it, in this order. */
async function startQueued(batchKey: string, priority?: string): Promise<readonly string[]> {
  const limited = start({
    keys: { people: "", index: batchKey },
    embedderLimits: "concurrent: 1",
    settings: { VEXEL_CACHE_BYTES: "0" },
  });
  const { fake, gateway } = limited;
  const { promise: until, resolve: finishFirst } = Promise.withResolvers<void>();
  fake.script({ until });
  const first = embed(limited, "people", "first");
  await fake.arrived(1);
  const requests = [first];
  for (const name of ["batch 1", "batch 2", "batch 3"]) {
    requests.push(embed(limited, "index", name, priority));
  }
  await waitUntil(() => gateway.inFlight() === 4);
  for (const name of ["interactive 1", "interactive 2"]) {
    requests.push(embed(limited, "people", name));
  }
  await waitUntil(() => gateway.inFlight() === 6);
  finishFirst();
  expect(await Promise.all(requests)).toEqual(Array(6).fill("served"));
  expect(gateway.rows().map(({ status }) => status)).toEqual(Array(6).fill(200));
  return fake.requests.map(({ json }) => String((json as { input: unknown }).input));
}

const interactiveFirst = [
  "first",
  "interactive 1",
  "interactive 2",
  "batch 1",
  "batch 2",
  "batch 3",
];

describe("interactive requests go before batch requests that arrived earlier", () => {
  test("if a header says that they are batch requests", async () => {
    expect(await startQueued("", "batch")).toEqual(interactiveFirst);
  });

  test("if their API key says so, whatever the header says", async () => {
    expect(await startQueued("priority: batch", "interactive")).toEqual(interactiveFirst);
  });
});

test("without a priority, requests are interactive and keys take turns", async () => {
  const order = await startQueued("");
  expect(order.indexOf("batch 1")).toBeLessThan(order.indexOf("interactive 2"));
});

/** An upstream with one slot, which a slow batch request holds; `send` queues further requests in order. */
async function startBehindFirst(settings: Record<string, string>) {
  const limited = start({
    keys: { people: "", index: "" },
    upstreamLimits: "concurrent: 1",
    settings,
  });
  const { fake, gateway } = limited;
  const { promise: until, resolve: finishFirst } = Promise.withResolvers<void>();
  fake.script({ until });
  const requests = [embed(limited, "index", "first", "batch")];
  await fake.arrived(1);
  const send = async (key: string, input: string, priority: string) => {
    requests.push(embed(limited, key, input, priority));
    await waitUntil(() => gateway.inFlight() === requests.length);
    // A later turn of the event loop: the next request joins this one only if the target is busy.
    await Bun.sleep(5);
  };
  /** The inputs of the upstream requests that arrived after the first, in order. */
  const finish = async (): Promise<unknown[]> => {
    finishFirst();
    expect(await Promise.all(requests)).toEqual(Array(requests.length).fill("served"));
    return fake.requests.slice(1).map(({ json }) => (json as { input: unknown }).input);
  };
  return { send, finish };
}

test("an interactive request is not held back by micro-batching with batch requests", async () => {
  // A long wait, so that all requests find the batch that is being filled.
  const { send, finish } = await startBehindFirst({
    VEXEL_CACHE_BYTES: "0",
    VEXEL_BATCH_WAIT_MS: "500",
  });
  for (const name of ["batch 1", "batch 2", "batch 3"]) await send("index", name, "batch");
  await send("index", "batched 1", "batch");
  await send("people", "interactive 1", "interactive");
  await send("index", "batched 2", "batch");
  await send("people", "interactive 2", "interactive");
  // The batch waits in the queue of the target once its wait in the batcher is over. The interactive requests did not
  // wait in a batcher: only batch requests are in flight.
  await Bun.sleep(600);
  expect(await finish()).toEqual([
    "interactive 1",
    "interactive 2",
    "batch 1",
    "batch 2",
    "batch 3",
    ["batched 1", "batched 2"],
  ]);
});

test.each([
  ["one by one", "0"],
  ["with micro-batching", "25"],
])(
  "an interactive request does not wait for an input that a batch request has queued or sent, %s",
  async (_, batchWaitMs) => {
    const { send, finish } = await startBehindFirst({
      VEXEL_CACHE_BYTES: "1000000",
      VEXEL_BATCH_WAIT_MS: batchWaitMs,
    });
    for (const name of ["b1", "b2", "b3"]) await send("index", name, "batch");
    await send("people", "b3", "interactive");
    // This input is at the upstream already.
    await send("people", "first", "interactive");
    await Bun.sleep(50);
    expect(await finish()).toEqual(["b3", "first", "b1", "b2", "b3"]);
  },
);

test("an unknown priority is refused with the name of the header, and no upstream is called", async () => {
  const limited = start({ keys: { people: "" } });
  for (const value of ["urgent", "batch, interactive", " "]) {
    const error = await embed(limited, "people", "a", value);
    expect(error).toMatchObject({
      status: 400,
      code: "invalid_value",
      param: "vexel-priority",
      message: expect.stringContaining("'interactive' and 'batch'"),
    });
  }
  expect(await embed(limited, "people", "a", "Batch")).toBe("served");
  expect(limited.fake.requests).toHaveLength(1);
});

test("a request that is refused for its priority has a ledger row", async () => {
  const limited = start({ keys: { people: "" } });
  await embed(limited, "people", "a", "urgent");
  expect(limited.gateway.rows()).toMatchObject([{ status: 400, error: "invalid_value" }]);
});

test("under overload a batch request gets 503 while an interactive one is served", async () => {
  const limited = start({
    keys: { people: "", index: "" },
    settings: { VEXEL_MAX_CONCURRENT: "8", VEXEL_CACHE_BYTES: "0" },
  });
  const { fake } = limited;
  const { promise: until, resolve: finish } = Promise.withResolvers<void>();
  fake.script({ until }, { times: 7 });
  const running = Array.from({ length: 7 }, (_, at) => embed(limited, "people", `slow ${at}`));
  await fake.arrived(7);
  expect(await embed(limited, "index", "b", "batch")).toMatchObject({ status: 503 });
  expect(await embed(limited, "index", "i")).toBe("served");
  finish();
  await Promise.all(running);
});
