/** Each of several images has a different seed, in the vendor's range. */
import { expect, test } from "bun:test";
import { fanOut } from "../../server/images/fan-out.ts";
import type { BufferedImageResponse, GenerationQuery } from "../../server/upstream/contract.ts";

/** The seeds of the upstream requests, in order. */
async function seedsOf(seed: unknown, calls: readonly number[]): Promise<unknown[]> {
  const seeds: unknown[] = [];
  const n = calls.reduce((sum, each) => sum + each);
  const query: GenerationQuery = {
    model: "m",
    prompt: "x",
    stream: false,
    options: { n },
    extraFields: { seed },
  };
  const send = async ({
    extraFields,
    options,
  }: GenerationQuery): Promise<BufferedImageResponse> => {
    seeds.push(extraFields.seed);
    const image = { kind: "base64", base64: "" } as const;
    return { kind: "buffered", results: new Array(options.n ?? 1).fill({ image }), metadata: {} };
  };
  await fanOut(
    { query, requestCounts: calls },
    { send, isStreaming: false, onMissing: () => undefined },
  );
  return seeds;
}

test.each<[string, unknown, readonly number[], readonly unknown[]]>([
  ["one image per request", 7, [1, 1, 1], [7, 8, 9]],
  ["several images per request, with consecutive seeds", 7, [4, 4, 2], [7, 11, 15]],
  ["a text, as forms have it", "7", [2, 2], ["7", "9"]],
  ["the end of int32", 2 ** 31 - 2, [1, 1, 1], [2 ** 31 - 2, 0, 1]],
  ["the last of int32", 2 ** 31 - 1, [1, 1], [2 ** 31 - 1, 1]],
  ["the end of uint32", 2 ** 32 - 2, [1, 1], [2 ** 32 - 2, 0]],
  ["-1, which means by chance", -1, [1, 1], [-1, -1]],
  ["-1 as a text", "-1", [1, 1], ["-1", "-1"]],
  ["a word", "random", [1, 1], ["random", "random"]],
  ["none", undefined, [1, 1], [undefined, undefined]],
])("%s", async (_, seed, calls, seeds) => {
  expect(await seedsOf(seed, calls)).toEqual([...seeds]);
});
