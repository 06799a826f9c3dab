/** Single-flight and priority: an interactive request does not wait for inputs of a batch request. */
import { describe, expect, test } from "bun:test";
import { cacheStage } from "../../server/embeddings/cache/cache-stage.ts";
import { EmbeddingCache } from "../../server/embeddings/cache/embedding-cache.ts";
import { reportServed } from "../../server/embeddings/embedding-usage.ts";
import { SingleFlight } from "../../server/embeddings/single-flight.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { Priority } from "../../server/request/http-types.ts";
import { composeStages } from "../../server/request/stage.ts";
import {
  countsOf,
  type EmbeddingsRequest,
  type EmbeddingsSend,
  HeldUpstream,
  model,
  outcomeOf,
  requestFor,
  settled,
  textsOf,
  vectorFor,
} from "./stage-fixture.ts";

/** A queue in front of the upstream, from which the test takes each request. */
class HeldQueue {
  readonly waiting: { readonly request: EmbeddingsRequest; admit(): void; shed(): void }[] = [];

  readonly stage =
    (next: EmbeddingsSend): EmbeddingsSend =>
    async (request) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const shed = () => reject(new GatewayError("overloaded", "The gateway is overloaded."));
      this.waiting.push({ request, admit: resolve, shed });
      await promise;
      return next(request);
    };

  /** Admits the first queued request with this text. */
  async admit(text: string): Promise<void> {
    await this.#leave(text, "admit");
  }

  async shed(text: string): Promise<void> {
    await this.#leave(text, "shed");
  }

  async #leave(text: string, how: "admit" | "shed"): Promise<void> {
    const at = this.waiting.findIndex(({ request }) => textsOf(request).includes(text));
    this.waiting.splice(at, 1)[0]![how]();
    await settled();
  }
}

function setUp() {
  const upstream = new HeldUpstream();
  const queue = new HeldQueue();
  const cache = new EmbeddingCache({ maxBytes: 1e6 });
  const singleFlight = new SingleFlight();
  const send = composeStages(
    [cacheStage({ cache, singleFlight, enabled: () => true }), reportServed, queue.stage],
    upstream.next,
  );
  const start = (priority: Priority, ...texts: string[]) => {
    const request = requestFor(texts, model);
    request.record.priority = priority;
    return { record: request.record, outcome: outcomeOf(send(request)) };
  };
  return { upstream, queue, singleFlight, start };
}

const vectorsOf = (...texts: string[]) => ({
  value: { vectors: texts.map((text) => vectorFor(text)) },
});

describe("an interactive request for an input of a batch request", () => {
  test("that is queued sends its own upstream request, and each pays for its own", async () => {
    const { upstream, queue, singleFlight, start } = setUp();
    const indexing = start("batch", "a");
    const user = start("interactive", "a");
    expect(queue.waiting.map(({ request }) => request.context.priority)).toEqual([
      "batch",
      "interactive",
    ]);
    queue.waiting[1]!.admit();
    await settled();
    upstream.requests[0]!.respond();
    expect(await user.outcome).toMatchObject(vectorsOf("a"));
    queue.waiting[0]!.admit();
    await settled();
    upstream.requests[1]!.respond();
    expect(await indexing.outcome).toMatchObject(vectorsOf("a"));
    for (const { record } of [indexing, user])
      expect(countsOf(record)).toMatchObject({ cachedInputs: 0, upstreamTokens: 1 });
    expect(singleFlight.size).toBe(0);
  });

  test("that is queued is waited for by later requests of both priorities", async () => {
    const { upstream, queue, start } = setUp();
    start("batch", "a");
    const all = [start("interactive", "a"), start("interactive", "a"), start("batch", "a")];
    expect(queue.waiting).toHaveLength(2);
    queue.waiting[1]!.admit();
    await settled();
    upstream.requests[0]!.respond();
    for (const { outcome } of all) expect(await outcome).toMatchObject(vectorsOf("a"));
    expect(all.map(({ record }) => record.cachedInputs)).toEqual([0, 1, 1]);
  });

  test("that is shed as a batch request sends its own upstream request", async () => {
    const { upstream, queue, start } = setUp();
    const indexing = start("batch", "a");
    const user = start("interactive", "a");
    await queue.shed("a");
    expect(await indexing.outcome).toHaveProperty("error.kind", "overloaded");
    await queue.admit("a");
    upstream.requests[0]!.respond();
    expect(await user.outcome).toMatchObject(vectorsOf("a"));
  });
});

test("a batch request waits for an input that is queued for another request of any priority", async () => {
  for (const priority of ["batch", "interactive"] as const) {
    const { upstream, queue, start } = setUp();
    const first = start(priority, "a");
    const second = start("batch", "a");
    await queue.admit("a");
    upstream.requests[0]!.respond();
    for (const { outcome } of [first, second]) expect(await outcome).toMatchObject(vectorsOf("a"));
    expect(upstream.requests).toHaveLength(1);
  }
});
