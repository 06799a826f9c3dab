/** The built-in model is the real all-MiniLM-L6-v2, on either of its runtimes. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createMinilm } from "../../server/workers/embedding/minilm.ts";
import reference from "../data/minilm/reference.json";
import { cosine, embed, sentences } from "./built-in-fixture.ts";

// A process is started in most of these, which takes a while on a busy machine.

const native = createMinilm({ runtime: "native" });
const fallback = createMinilm({ onnxruntime: "a-package-that-is-not-installed" });
const texts = reference.sentences.map(({ text }) => text);
// The fallback runtime is slow: it embeds every eighth text.
const some = [...texts.keys()].filter((index) => index % 8 === 0);
const cut = { extraFields: { truncate: true } };

let nativeResponse: Awaited<ReturnType<typeof embed>>;
let fallbackResponse: Awaited<ReturnType<typeof embed>>;
beforeAll(async () => {
  [nativeResponse, fallbackResponse] = await Promise.all([
    embed(native, texts, cut),
    embed(
      fallback,
      some.map((index) => texts[index]!),
      cut,
    ),
  ]);
});
afterAll(async () => {
  await Promise.all([native.close(), fallback.close()]);
});

const expectedVector = (index: number): Float32Array => {
  const bytes = Buffer.from(reference.sentences[index]?.vector ?? "", "base64");
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4));
};

test("every vector matches that of the reference implementation", () => {
  const likeness = nativeResponse.vectors.map((vector, index) =>
    cosine(vector, expectedVector(index)),
  );
  expect(likeness).toHaveLength(48);
  expect(Math.min(...likeness)).toBeGreaterThan(0.999);
});

test("every vector has 384 numbers and length 1", () => {
  for (const vector of nativeResponse.vectors) {
    expect(vector).toHaveLength(384);
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
  }
});

test("usage counts the tokens that Hugging Face's own tokenizer counts, up to the limit", async () => {
  const counts = reference.sentences.map(({ tokens }) => Math.min(tokens, reference.maxTokens));
  const inputTokens = counts.reduce((sum, count) => sum + count);
  expect(nativeResponse.usage).toEqual({ inputTokens, perInput: counts });
  // Alone as well as in a list. The last text is truncated.
  for (const index of [...some, texts.length - 1]) {
    expect((await embed(native, [texts[index]!], cut)).usage).toEqual({
      inputTokens: counts[index]!,
      perInput: [counts[index]!],
    });
  }
});

test("without onnxruntime the WebAssembly engine gives the same vectors and counts", () => {
  expect(native.state().metadata).toMatchObject({ runtime: "native", dimensions: 384 });
  expect(fallback.state().metadata).toMatchObject({ runtime: "wasm", dimensions: 384 });
  expect(fallback.state().metadata?.fallbackReason).toMatch(
    /^a-package-that-is-not-installed does not run here/,
  );
  const likeness = some.map((index, i) =>
    cosine(fallbackResponse.vectors[i]!, nativeResponse.vectors[index]!),
  );
  expect(Math.min(...likeness)).toBeGreaterThan(0.999);
  const counts = some.map((index) => Math.min(reference.sentences[index]!.tokens, 256));
  const inputTokens = counts.reduce((sum, count) => sum + count);
  expect(fallbackResponse.usage).toEqual({ inputTokens, perInput: counts });
});

test("a vector does not depend on the other inputs of its batch", async () => {
  const alone = await embed(native, ["A vector stands for itself."]);
  const others = ["short", sentences(9).join(" "), ...sentences(30)];
  const among = await embed(native, [...others, "A vector stands for itself.", ...others]);
  const vector = among.vectors[others.length]!;
  const difference = vector.map((value, i) => Math.abs(value - alone.vectors[0]![i]!));
  expect(Math.max(...difference)).toBeLessThan(1e-6);
});

const paraphrases: readonly [string, string][] = [
  ["How can I change my password?", "What are the steps to update my login credentials?"],
  ["The train was two hours late.", "Our rail journey was badly delayed."],
  ["He is allergic to peanuts.", "Eating groundnuts makes him ill."],
  ["The company fired a tenth of its staff.", "The firm laid off many employees."],
  ["It will rain all day tomorrow.", "The forecast says wet weather for the next day."],
  [
    "She won the marathon in record time.",
    "The runner finished the long race faster than anyone before.",
  ],
  ["The soup needs more salt.", "This broth tastes bland and should be seasoned."],
  ["Interest rates were raised again.", "The central bank made borrowing more expensive."],
  ["My laptop does not turn on any more.", "The computer is dead and will not boot."],
  ["They bought a house near the sea.", "The couple purchased a home on the coast."],
  ["The film bored me to sleep.", "I found the movie so dull that I dozed off."],
  ["Cats sleep for most of the day.", "Felines spend many hours napping."],
];

test("a paraphrase is nearest among unrelated sentences", async () => {
  const queryVectors = (
    await embed(
      native,
      paraphrases.map(([first]) => first),
    )
  ).vectors;
  const responses = (
    await embed(
      native,
      paraphrases.map(([, second]) => second),
    )
  ).vectors;
  const found = queryVectors.map((queryVector) => {
    const scores = responses.map((response) => cosine(queryVector, response));
    return scores.indexOf(Math.max(...scores));
  });
  expect(found).toEqual(paraphrases.map((_, index) => index));
});
