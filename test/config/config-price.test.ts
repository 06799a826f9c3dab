/** `price` in vexel.yaml is applied as written, and errors in it are explained. */
import { describe, expect, test } from "bun:test";
import { loadYaml, problemsOf } from "./load-yaml.ts";

function fileWith(kind: "embedding" | "image", price: string, ofTarget = ""): string {
  const model = kind === "embedding" ? "text-embedding-3-small" : "gpt-image-2";
  return `upstreams: [{ id: openai, kind: openai, apiKey: sk-1 }]
models:
  - id: ours
    kind: ${kind}
    price: ${price}
    targets:
      - { upstream: openai, model: ${model} }
      - { upstream: openai, model: ${model}${ofTarget} }
`;
}
const pricesOf = (...file: Parameters<typeof fileWith>) =>
  loadYaml(fileWith(...file))
    .snapshot.models.get("ours")
    ?.targets.map(({ price }) => price);

test("a model's price applies to its targets, unless they have their own", () => {
  expect(pricesOf("embedding", "{ input: 0.02 }", ", price: { input: 0 }")).toEqual([
    { tokens: { textIn: 0.02 } },
    { tokens: { textIn: 0 } },
  ]);
});

test.each<[string, object]>([
  ["{ image: 0.04 }", { images: { "": 0.04 } }],
  [
    '{ image: 1, images: { "high 1024x1024": 0.17, hd: 2, "<=512x512": 3 } }',
    { images: { "": 1, "high 1024x1024": 0.17, hd: 2, "<=512x512": 3 } },
  ],
  ["{ megapixel: 0.01 }", { megapixel: 0.01 }],
  [
    "{ input: 5, imageInput: 10, output: 40 }",
    { tokens: { textIn: 5, imageIn: 10, textOut: 40, imageOut: 40 } },
  ],
  [
    "{ input: 5, output: 40, textOutput: 10 }",
    { tokens: { textIn: 5, imageIn: 5, textOut: 10, imageOut: 40 } },
  ],
])("an image model's price: %s", (written, price) => {
  expect(pricesOf("image", written)?.[0]).toEqual(price);
});

describe("a price is refused with its location:", () => {
  test.each<[string, "embedding" | "image", string, RegExp]>([
    ["less than nothing", "image", "{ image: -1 }", /price\.image: must be at least 0/],
    ["a price as text", "embedding", '{ input: "two cents" }', /price\.input/],
    [
      "a price of output for an embedding model",
      "embedding",
      "{ input: 1, output: 1 }",
      /price\.output: unknown key/,
    ],
    ["half of a price for tokens", "image", "{ input: 5 }", /both `input` and `output`/],
    ["more than half of one", "image", "{ imageInput: 5 }", /if it has `imageInput`/],
    ["a size that is none", "image", '{ images: { "high large": 1 } }', /a size such as/],
    ["a misspelled key", "image", "{ imgae: 1 }", /unknown key \(did you mean `image`\?\)/],
  ])("%s", (_, kind, written, message) => {
    expect(problemsOf(fileWith(kind, written))).toMatch(message);
  });
});
