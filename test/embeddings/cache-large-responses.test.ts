/** The vectors of a large response are stored in steps, so that other requests are served meanwhile. */
import { describe, expect, test } from "bun:test";
import { cacheStage } from "../../server/embeddings/cache/cache-stage.ts";
import { EmbeddingCache } from "../../server/embeddings/cache/embedding-cache.ts";
import { SingleFlight } from "../../server/embeddings/single-flight.ts";
import type { EmbeddingsResponse } from "../../server/upstream/contract.ts";
import { turnsDuring } from "../upstream/turns-during.ts";
import { modelWithTargets, requestFor, settled, targetNamed } from "./stage-fixture.ts";

const dimensions = 1536;
const texts = Array.from({ length: 2048 }, (_, at) => `text ${at}`);
const last = texts.at(-1) as string;
const model = modelWithTargets(targetNamed("a"));
const maxBytes = 64 * 1024 * 1024;

const vectorOf = (text: string): Float32Array =>
  new Float32Array(dimensions).fill(1 + Number(text.slice("text ".length)));

const responseTo = (inputs: readonly string[]): EmbeddingsResponse => ({
  vectors: inputs.map(vectorOf),
  usage: { inputTokens: inputs.length },
});

function start() {
  const cache = new EmbeddingCache({ maxBytes });
  const singleFlight = new SingleFlight();
  const sent: number[] = [];
  const send = cacheStage({ cache, singleFlight, enabled: () => true })(async ({ query }) => {
    const { input } = query;
    const inputs = input.kind === "text" ? input.texts : [];
    sent.push(inputs.length);
    return responseTo(inputs);
  });
  return { cache, singleFlight, sent, send: (inputs: string[]) => send(requestFor(inputs, model)) };
}

describe("a response with 2,048 vectors", () => {
  test("is stored in several turns of the event loop, and answered when all of it is found", async () => {
    const { cache, singleFlight, sent, send } = start();
    const { turns, result } = await turnsDuring(() => send(texts));
    expect(turns).toBeGreaterThanOrEqual(4);
    expect(result.vectors).toHaveLength(texts.length);
    expect([cache.size, singleFlight.size]).toEqual([texts.length, 0]);
    const [first, again] = [await send(["text 0"]), await send([last])];
    expect(first.vectors).toEqual([vectorOf("text 0")]);
    expect(again.vectors).toEqual([vectorOf(last)]);
    expect(sent).toEqual([texts.length]);
  });

  test("serves a request for its last text while it is being stored, without another upstream request", async () => {
    const { cache, sent, send } = start();
    const whole = send(texts);
    while (cache.size === 0) await settled();
    expect(cache.size).toBeLessThan(texts.length);
    expect((await send([last])).vectors).toEqual([vectorOf(last)]);
    expect((await whole).vectors).toHaveLength(texts.length);
    expect(sent).toEqual([texts.length]);
  });

  test("stores nothing after the cache was cleared in between", async () => {
    const { cache, send } = start();
    const whole = send(texts);
    while (cache.size === 0) await settled();
    cache.clearMemory();
    await whole;
    expect(cache.size).toBe(0);
  });

  test("with an invalid vector fails, and leaves no text in flight", async () => {
    const cache = new EmbeddingCache({ maxBytes });
    const singleFlight = new SingleFlight();
    const send = cacheStage({ cache, singleFlight, enabled: () => true })(async () => ({
      vectors: [...responseTo(texts.slice(1)).vectors, "not base64"],
    }));
    const sent = send(requestFor(texts, model));
    await expect(sent).rejects.toMatchObject({ kind: "upstream_invalid" });
    expect(singleFlight.size).toBe(0);
  });
});
