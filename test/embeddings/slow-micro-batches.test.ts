/** An input that hangs the upstream does not hold up the other requests of its micro-batch. */
import { afterAll, expect, test } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";
import { until } from "../until.ts";
import {
  attemptWith,
  type CountedRequest,
  outcomeOf,
  requestOf,
  settled,
  setUpBusyMicroBatching,
  textsOf,
  vectorFor,
} from "./stage-fixture.ts";

/** A micro-batch of these texts whose attempt timeout has passed. */
async function slowMicroBatch(texts: readonly string[], isWaiting = false) {
  const { upstream, send, release } = setUpBusyMicroBatching();
  const queueWait = { ms: 0, isWaiting, admittedAt: 0 };
  const requests = texts.map(
    (text): CountedRequest => ({
      ...requestOf(text),
      attempt: attemptWith({ queueWait, timeoutMs: () => 0 }),
    }),
  );
  const outcomes = requests.map((request) => outcomeOf(send(request)));
  await release();
  expect(upstream.requestedTexts[1]).toEqual(texts);
  const requestFor = (text: string) =>
    upstream.requests.find(({ request }) => textsOf(request).join() === text);
  return { upstream, requests, outcomes, requestFor, microBatch: upstream.requests[1]! };
}

const texts = ["a", "b", "hangs"];

test("each request of a slow micro-batch is sent on its own, and only the one that hangs waits", async () => {
  const { requests, outcomes, requestFor, microBatch } = await slowMicroBatch(texts);
  await until(() => texts.every((text) => requestFor(text) !== undefined));
  for (const text of ["a", "b"]) requestFor(text)?.respond();
  expect(await outcomes[0]).toHaveProperty("value.vectors", [vectorFor("a")]);
  expect(await outcomes[1]).toHaveProperty("value.vectors", [vectorFor("b")]);
  // Each request has an upstream request of its own, so the micro-batch is canceled.
  expect(microBatch.request.signal().aborted).toBe(true);
  expect(requestFor("hangs")?.request.signal().aborted).toBe(false);
  const reason = new Error("gone");
  requests[2]?.client.abort(reason);
  expect(await outcomes[2]).toEqual({ error: reason });
  expect(requestFor("hangs")?.request.signal().aborted).toBe(true);
  expect(requests.map(({ client }) => client.listeners.size)).toEqual([0, 0, 0]);
});

test("the requests of a slow micro-batch are served on their own, and nothing stays in flight", async () => {
  const { upstream, outcomes, requestFor } = await slowMicroBatch(texts);
  for (const text of texts) {
    await until(() => requestFor(text) !== undefined);
    requestFor(text)?.respond();
  }
  for (const [at, text] of texts.entries()) {
    expect(await outcomes[at]).toHaveProperty("value.vectors", [vectorFor(text)]);
  }
  await settled();
  expect(upstream.inFlight).toBe(0);
});

test("more inputs that hang than are sent at a time do not hold up the others", async () => {
  const { outcomes, requestFor } = await slowMicroBatch(["a", "hangs 1", "hangs 2", "hangs 3"]);
  await until(() => requestFor("a") !== undefined);
  requestFor("a")?.respond();
  expect(await outcomes[0]).toHaveProperty("value.vectors", [vectorFor("a")]);
});

test("a micro-batch that waits for the limits of its target is not separated", async () => {
  const { upstream, microBatch, outcomes } = await slowMicroBatch(["a", "b"], true);
  await Bun.sleep(600);
  expect(upstream.requests).toHaveLength(2);
  microBatch.respond();
  expect(await outcomes[0]).toHaveProperty("value.vectors", [vectorFor("a")]);
});

test("a request whose other attempt was slow joins no micro-batch", async () => {
  const { upstream, send } = setUpBusyMicroBatching();
  const attempt = attemptWith({ followsSlow: true });
  void send({ ...requestOf("slow before"), attempt });
  expect(upstream.requestedTexts).toEqual([["first"], ["slow before"]]);
});

const fake = startFake();
const gateway = startGateway({
  yaml: `
upstreams: [{ id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }]
models: [{ id: m, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }]
keys: [{ name: test, key: ${testKey} }]
`,
});
afterAll(async () => {
  await gateway.close();
  fake.close();
});

const embed = async (input: string, signal?: AbortSignal): Promise<number> => {
  const response = await fetch(`${gateway.baseURL}/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", input }),
    ...(signal && { signal }),
  });
  await response.arrayBuffer();
  return response.status;
};

/** Empty while the body has not been read. */
const inputsOf = (body: unknown): readonly string[] =>
  [(body as { readonly input: string | readonly string[] } | undefined)?.input ?? []].flat();

test("while an input hangs the upstream, the other requests of its micro-batch are served and its target stays in use", async () => {
  // The usual latency is known then.
  for (let count = 0; count < 30; count++) await embed(`warm-up ${count}`);
  fake.clear();
  const release = Promise.withResolvers<void>();
  const holds = (prefix: string) => (request: { readonly json?: unknown }) =>
    inputsOf(request.json).some((input) => input.startsWith(prefix));
  fake.script({ until: release.promise }, { when: holds("hangs"), times: 1000 });
  fake.script({ until: release.promise }, { when: holds("first"), times: 1 });
  // While an upstream request is in flight, requests of the same turn of the event loop form a micro-batch.
  const held = embed("first");
  await fake.arrived(1);
  const gone = new AbortController();
  const hanging: Promise<number>[] = [];
  const isBatched = (): boolean =>
    fake.requests.some(({ json }) => {
      const inputs = inputsOf(json);
      return inputs.length > 1 && inputs.some((input) => input.startsWith("hangs"));
    });
  // On a busy machine, requests that are sent together may arrive in different turns.
  for (let round = 0; !isBatched() && round < 50; round++) {
    hanging.push(embed(`hangs ${round}`, gone.signal).catch(() => 0));
    const others = Array.from({ length: 8 }, (_, at) => embed(`text ${round} ${at}`));
    expect(await Promise.all(others)).toEqual(Array<number>(8).fill(200));
  }
  expect(isBatched()).toBe(true);
  expect(gateway.log()).not.toContain("target-ejected");
  gone.abort();
  release.resolve();
  await Promise.all([held, ...hanging]);
});
