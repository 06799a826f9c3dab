/**
 * What bits cost in ranking quality, with the built-in model: `npm run bench -- quantization`. For each question, the
 * ten nearest texts by the cosine similarity of float32 vectors are the truth. Two sets: made-up sentences, and the
 * sentences of the documentation.
 */

import { readFileSync } from "node:fs";
import { Glob } from "bun";
import { packBits } from "../server/lib/packed-bits.ts";
import type { EmbeddingsQuery } from "../server/upstream/contract.ts";
import { createMinilm } from "../server/workers/embedding/minilm.ts";
import { questions, sentences } from "./sample-sentences.ts";

const minilm = createMinilm({ runtime: "native" });
const target = { upstream: { id: "minilm", kind: "minilm", headers: {}, options: {} }, model: "" };
const { signal } = new AbortController();

async function embed(texts: readonly string[]): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let from = 0; from < texts.length; from += 256) {
    const query: EmbeddingsQuery = {
      model: "",
      input: { kind: "text", texts: texts.slice(from, from + 256) },
      single: false,
      encoding: "float",
      extraFields: {},
    };
    const response = await minilm.embeddings(query, target, signal);
    vectors.push(...response.vectors.map((vector) => Float32Array.from(vector as Float32Array)));
  }
  return vectors;
}

/** The sentences of the documentation: prose lines, without tables and code. */
function documentSentences(): string[] {
  const pages = [...new Glob("docs/*.md").scanSync(".")].sort();
  const lines = pages.flatMap((page) =>
    readFileSync(page, "utf8")
      .replaceAll(/```.*?```/gs, "")
      .split("\n")
      .filter((line) => /^[A-Z*-]/.test(line)),
  );
  const plain = lines.map((line) => line.replaceAll(/\[([^\]]*)\]\([^)]*\)|[*`]|^- /g, "$1"));
  const found = plain.flatMap((line) => line.split(/(?<=[.!?]) (?=[A-Z])/));
  return [...new Set(found.filter((text) => text.length >= 40 && text.length <= 400))];
}

const dot = (a: Float32Array, b: Float32Array): number => {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += a[at]! * b[at]!;
  return sum;
};

/** Negative: the nearest text has the highest score. */
const hamming = (a: Uint8Array, b: Uint8Array): number => {
  let sum = 0;
  for (let at = 0; at < a.length; at++)
    for (let bits = a[at]! ^ b[at]!; bits > 0; bits &= bits - 1) sum--;
  return sum;
};

/** Indexes by descending score; equal scores in order. */
const ranked = (scores: readonly number[]): number[] =>
  scores.map((_, at) => at).sort((a, b) => scores[b]! - scores[a]! || a - b);

/** Spearman's rank correlation, with the mean rank for equal scores. */
function rankCorrelation(first: readonly number[], second: readonly number[]): number {
  const [a, b] = [ranksOf(first), ranksOf(second)];
  const mean = (a.length - 1) / 2;
  let [both, ofA, ofB] = [0, 0, 0];
  for (let at = 0; at < a.length; at++) {
    const [x, y] = [a[at]! - mean, b[at]! - mean];
    both += x * y;
    ofA += x * x;
    ofB += y * y;
  }
  return both / Math.sqrt(ofA * ofB);
}

function ranksOf(scores: readonly number[]): number[] {
  const order = ranked(scores);
  const ranks = new Array<number>(scores.length);
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to < order.length && scores[order[to]!] === scores[order[from]!]) to++;
    for (let at = from; at < to; at++) ranks[order[at]!] = (from + to - 1) / 2;
    from = to;
  }
  return ranks;
}

const nearest = 10;
const overlap = (truth: readonly number[], found: readonly number[]): number =>
  truth.filter((at) => found.includes(at)).length / truth.length;

async function measure(
  name: string,
  texts: readonly string[],
  queries: readonly string[],
): Promise<void> {
  const [vectors, asked] = [await embed(texts), await embed(queries)];
  const packed = vectors.map(packBits);
  const results = asked.map((query) => {
    const exact = vectors.map((vector) => dot(query, vector));
    const bits = packBits(query);
    const coarse = packed.map((vector) => hamming(bits, vector));
    const truth = ranked(exact).slice(0, nearest);
    const order = ranked(coarse);
    // The usual remedy: more candidates by bits, and the best of them by the float32 vectors.
    const rescored = (times: number): number[] =>
      order
        .slice(0, times * nearest)
        .sort((a, b) => exact[b]! - exact[a]!)
        .slice(0, nearest);
    return {
      bits: overlap(truth, order.slice(0, nearest)),
      rescored4: overlap(truth, rescored(4)),
      rescored10: overlap(truth, rescored(10)),
      correlation: rankCorrelation(exact, coarse),
    };
  });
  const mean = (of: keyof (typeof results)[number]): string =>
    (results.reduce((sum, result) => sum + result[of], 0) / results.length).toFixed(3);
  console.log(
    `${name}: ${texts.length} texts, ${queries.length} queries, ${vectors[0]!.length} dimensions`,
  );
  console.log(`  recall@${nearest} of binary and ubinary, Hamming distance: ${mean("bits")}`);
  console.log(`  of the best 40 by bits, ranked by float32: ${mean("rescored4")}`);
  console.log(`  of the best 100 by bits, ranked by float32: ${mean("rescored10")}`);
  console.log(`  rank correlation (Spearman) with float32: ${mean("correlation")}`);
}

await measure("made-up sentences", sentences, questions);
const documents = documentSentences();
// Every 20th sentence is a query, and not among the texts.
await measure(
  "sentences of the documentation",
  documents.filter((_, at) => at % 20 !== 0),
  documents.filter((_, at) => at % 20 === 0),
);
await minilm.close();
