/** Known embedding models: every row is sane, every name means one model, and vendors' spellings are understood. */
import { describe, expect, test } from "bun:test";
import {
  canTruncateTo,
  knownEmbedding,
  knownEmbeddings,
  vectorSpaceOf,
} from "../../server/upstream/catalog/index.ts";
import { priceSources } from "../../server/upstream/catalog/price-sources.ts";
import { kinds } from "../../server/upstream/kinds.ts";

describe("every row", () => {
  test("has plausible numbers", () => {
    for (const { name, dimensions, maxTokens, price, source } of knownEmbeddings) {
      const whole = Number.isInteger(dimensions) && Number.isInteger(maxTokens);
      const sizes = dimensions >= 64 && dimensions <= 8192 && maxTokens >= 32;
      const costs = Object.values(price ?? {}).every((dollars) => dollars > 0 && dollars < 1);
      expect(`${name} ${whole && sizes && costs && source !== ""}`).toBe(`${name} true`);
    }
  });

  test("has a source with a date, or says when it was checked without proof", () => {
    for (const { name, source } of knownEmbeddings) {
      const dates = source.match(/20\d\d-\d\d-\d\d/g) ?? [];
      expect(`${name} ${dates.length > 0}`).toBe(`${name} true`);
      for (const date of dates) expect(new Date(date).toISOString()).toStartWith(date);
    }
  });

  test("has a price only with its source and the date of the source", () => {
    const kindsWithPrices = new Set(
      knownEmbeddings.flatMap(({ price }) => Object.keys(price ?? {})),
    );
    expect(Object.keys(priceSources).sort()).toEqual([...kindsWithPrices].sort());
    for (const { source, on } of Object.values(priceSources)) {
      expect(source).not.toBe("");
      expect(on).toMatch(/^20\d\d-\d\d-\d\d$/);
    }
  });

  test("lists only truncated lengths below its own length", () => {
    for (const { name, dimensions, matryoshka } of knownEmbeddings) {
      if (!matryoshka) continue;
      const lengths = "min" in matryoshka ? [matryoshka.min] : matryoshka;
      expect(`${name} ${lengths.length}`).not.toBe(`${name} 0`);
      for (const length of lengths)
        expect(`${name} ${length > 0 && length < dimensions}`).toBe(`${name} true`);
      expect(lengths).toEqual([...lengths].sort((a, b) => a - b));
    }
  });

  test("is found by each of its names, and by no name of another row", () => {
    const names = knownEmbeddings.flatMap(({ name, also = [] }) => [name, ...also]);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    for (const row of knownEmbeddings) {
      for (const name of [row.name, ...(row.also ?? [])]) {
        expect(`${name}: ${knownEmbedding(name)?.name}`).toBe(`${name}: ${row.name}`);
        expect(`${name}: ${vectorSpaceOf(name)}`).toBe(`${name}: ${row.name}`);
      }
      for (const [kind, there] of Object.entries(row.at ?? {}))
        for (const name of there)
          expect(`${name} at ${kind}: ${knownEmbedding(name, kind)?.name}`).toBe(
            `${name} at ${kind}: ${row.name}`,
          );
    }
  });

  test("has lower-case names without an owner, and existing kinds", () => {
    for (const { name, also = [], at = {}, price = {} } of knownEmbeddings) {
      for (const spelling of [name, ...also, ...Object.values(at).flat()])
        expect(spelling).toMatch(/^[a-z0-9][a-z0-9._:@-]*$/);
      for (const kind of [...Object.keys(at), ...Object.keys(price)])
        expect(`${name} ${kind} ${kinds.has(kind)}`).toBe(`${name} ${kind} true`);
    }
  });
});

describe("a vendor's spelling", () => {
  const spellings: Readonly<Record<string, readonly string[]>> = {
    "text-embedding-3-small": ["openai/text-embedding-3-small", "Text-Embedding-3-Small"],
    "text-embedding-ada-002": ["openai/text-embedding-ada-002", "text-embedding-ada-002-v2"],
    "gemini-embedding-001": ["models/gemini-embedding-001", "google/gemini-embedding-001"],
    "text-embedding-005": ["publishers/google/models/text-embedding-005"],
    "embed-v4.0": ["cohere.embed-v4:0", "us.cohere.embed-v4:0", "embed-v-4-0", "cohere/embed-v4.0"],
    "embed-english-v3.0": ["cohere.embed-english-v3", "Cohere-embed-v3-english"],
    "titan-embed-text-v2": ["amazon.titan-embed-text-v2:0", "amazon/titan-embed-text-v2"],
    "titan-embed-text-v1": [
      "amazon.titan-embed-text-v1:2:8k",
      "arn:aws:bedrock:us-east-1::foundation-model/amazon.titan-embed-text-v1",
    ],
    "bge-m3": ["BAAI/bge-m3", "@cf/baai/bge-m3", "Pro/BAAI/bge-m3", "bge-m3:567m", "bge-m3:free"],
    "bge-base-en-v1.5-mean": ["@cf/baai/bge-base-en-v1.5", "cloudflare/@cf/baai/bge-base-en-v1.5"],
    "qwen3-embedding-8b": [
      "Qwen/Qwen3-Embedding-8B",
      "fireworks/qwen3-embedding-8b",
      "accounts/fireworks/models/qwen3-embedding-8b",
      "qwen3-embedding:8b-fp16",
      "dengcao/Qwen3-Embedding-8B:Q8_0",
    ],
    "qwen3-embedding-0.6b": ["accounts/fireworks/models/qwen3-embedding-0p6b"],
    "nomic-embed-text-v1.5": [
      "nomic-embed-text",
      "nomic-embed-text:latest",
      "nomic-embed-text:137m-v1.5-fp16",
      "hf.co/nomic-ai/nomic-embed-text-v1.5-GGUF:F16",
      "nomic-embed-text-v1.5.Q8_0.gguf",
    ],
    "all-minilm-l6-v2": ["all-minilm", "sentence-transformers/all-MiniLM-L6-v2", "all-minilm:22m"],
    "snowflake-arctic-embed-l": ["snowflake/arctic-embed-l", "snowflake-arctic-embed:335m"],
    "mxbai-embed-large-v1": ["mxbai-embed-large", "mixedbread-ai/mxbai-embed-large-v1"],
    "nemotron-3-embed-1b": ["nvidia/Nemotron-3-Embed-1B-BF16"],
    "nemotron-3.5-embed-1b": ["nvidia/nemotron-3.5-embed-1b", "nvidia/Nemotron-3.5-Embed-1B-BF16"],
    "embed-english-light-image-v3.0": ["cohere.embed-english-light-image-v3.0"],
  };
  for (const [name, spelling] of Object.entries(spellings))
    test(`is understood: ${name}`, () => {
      for (const model of spelling)
        expect(`${model}: ${vectorSpaceOf(model)}`).toBe(`${model}: ${name}`);
    });

  test("of a quantized copy has another vector space", () => {
    for (const coarse of [
      "nomic-embed-text-v1.5.Q4_K_M.gguf",
      "dengcao/Qwen3-Embedding-8B:Q4_K_M",
      "embeddinggemma:300m-qat-q4_0",
    ]) {
      expect(knownEmbedding(coarse)).toBeUndefined();
      expect(vectorSpaceOf(coarse)).toEndWith(coarse.slice(coarse.indexOf("/") + 1).toLowerCase());
    }
  });

  test("that is unknown has a vector space named after it", () => {
    expect(vectorSpaceOf("Somebody/Her-Model:latest")).toBe("her-model");
    expect(vectorSpaceOf("her-model:2")).toBe("her-model:2");
    expect(vectorSpaceOf("odd/")).toBe("odd/");
    expect(vectorSpaceOf("our-vectors", "azure")).toBe("azure/our-vectors");
    expect(vectorSpaceOf("constructor")).toBe("constructor");
  });

  test("that is ambiguous is resolved only at its own vendor", () => {
    expect(vectorSpaceOf("embedding-3", "zhipu")).toBe("zhipu-embedding-3");
    expect(vectorSpaceOf("embedding-3")).toBe("embedding-3");
    expect(vectorSpaceOf("bge-large", "ollama")).toBe("bge-large-en-v1.5");
    expect(vectorSpaceOf("bge-large", "vllm")).toBe("bge-large");
  });
});

test("a vector can be shortened only if the model's owner documents it", () => {
  const cut = (model: string, length: number) => {
    const known = knownEmbedding(model);
    return known && canTruncateTo(known, length);
  };
  expect(cut("text-embedding-3-large", 1)).toBeTrue();
  expect(cut("text-embedding-3-large", 3072)).toBeTrue();
  expect(cut("text-embedding-3-large", 3073)).toBeFalse();
  expect(cut("text-embedding-ada-002", 512)).toBeFalse();
  expect(cut("text-embedding-ada-002", 1536)).toBeTrue();
  expect(cut("embed-v4.0", 512)).toBeTrue();
  expect(cut("embed-v4.0", 500)).toBeFalse();
  expect(cut("gemini-embedding-001", 127)).toBeFalse();
});
