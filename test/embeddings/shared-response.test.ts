/** The memory of a large response is released when it is sent: requests that share its vectors still get them. */
import { afterAll, expect, test } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway } from "../harness.ts";
import { until } from "../until.ts";

const fake = startFake();
const gateway = startGateway({ yaml: configFor(fake.url) });
afterAll(async () => {
  await gateway.close();
  fake.close();
});

const model = "text-embedding-3-small";

async function embed(
  input: readonly string[],
  encoding_format: "base64" | "float",
): Promise<unknown[]> {
  const response = await gateway.post("/v1/embeddings", { model, input, encoding_format });
  const { data } = (await response.json()) as { data: { embedding: unknown }[] };
  return data.map(({ embedding }) => embedding);
}

test.each(["base64", "float"] as const)(
  "requests that wait for the texts of another get the same vectors as %s",
  async (encoding) => {
    const texts = Array.from({ length: 60 }, (_, at) => `${encoding} ${at}`);
    const { promise, resolve } = Promise.withResolvers<void>();
    const sent = fake.requests.length;
    fake.script({ until: promise }, { times: 1 });
    const first = embed(texts, "base64");
    await until(() => fake.requests.length > sent);
    const reversed = Array.from({ length: 8 }, () => embed(texts.toReversed(), encoding));
    const alone = embed([...texts.slice(20), "another"], encoding);
    await until(() => fake.requests.length > sent + 1);
    resolve();
    const vectors = await first;
    // From the cache.
    const expected = encoding === "base64" ? vectors : await embed(texts, "float");
    for (const waiting of await Promise.all(reversed))
      expect(waiting.toReversed()).toEqual(expected);
    expect((await alone).slice(0, -1)).toEqual(expected.slice(20));
    // And a large response that nobody waits for, after which its memory is used again.
    for (let at = 0; at < 5; at++) {
      const others = texts.map((text) => `${text} ${at}`);
      const received = await embed(others, "base64");
      expect(await embed(others, "base64")).toEqual(received);
    }
    expect(await embed(texts, encoding)).toEqual(expected);
  },
);
