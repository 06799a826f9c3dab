/** An upstream that records how many requests of each key with a concurrency limit are in flight. */
import { asFloats, fakeVector } from "../../test/fake-upstream/vectors.ts";
import { slotKeys, tokensPerRequest } from "./keys.ts";

/** So long that the time between two requests of a slot hardly counts. */
const slotMs = 1000;
export const dimensions = 8;

/** A change of the requests in flight of one key. */
export interface SlotChange {
  readonly at: number;
  readonly key: string;
  readonly inFlight: number;
}

export interface Upstream {
  readonly url: string;
  readonly slots: readonly SlotChange[];
  close(): void;
}

const slotNames = new Set(slotKeys.map(({ name }) => name));

interface EmbeddingsRequest {
  readonly model: string;
  readonly input: string | readonly string[];
}

export function startUpstream(): Upstream {
  const slots: SlotChange[] = [];
  const inFlight = new Map<string, number>();
  const change = (key: string, by: number): void => {
    const count = (inFlight.get(key) ?? 0) + by;
    inFlight.set(key, count);
    slots.push({ at: performance.now(), key, inFlight: count });
  };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { model, input } = (await request.json()) as EmbeddingsRequest;
      const texts = typeof input === "string" ? [input] : input;
      const limited = texts
        .map((text) => text.split(" ")[0] ?? "")
        .filter((key) => slotNames.has(key));
      for (const key of limited) change(key, 1);
      if (limited.length > 0) await Bun.sleep(slotMs);
      for (const key of limited) change(key, -1);
      const data = texts.map((text, index) => ({
        object: "embedding",
        index,
        embedding: asFloats(fakeVector(text, dimensions)),
      }));
      const tokens = tokensPerRequest * texts.length;
      const usage = { prompt_tokens: tokens, total_tokens: tokens };
      return Response.json({ object: "list", model, data, usage });
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, slots, close: () => server.stop(true) };
}
