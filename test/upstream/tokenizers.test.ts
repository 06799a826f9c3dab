/** Tokens of OpenAI's models are read as the text they stand for, or not at all. */
import { expect, test } from "bun:test";
import { decodeTokens } from "../../server/embeddings/adapt-parameters.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { decode } from "../../server/upstream/tokenizers.ts";

const read = (tokens: readonly number[]) => decode("cl100k_base", tokens);

// cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken, and the tokenizer of npm's js-tiktoken.
const texts: readonly (readonly [text: string, tokens: readonly number[]])[] = [
  ["", []],
  ["tiktoken is great!", [83, 1609, 5963, 374, 2294, 0]],
  ["antidisestablishmentarianism", [519, 85342, 34500, 479, 8997, 2191]],
  ["2 + 2 = 4", [17, 489, 220, 17, 284, 220, 19]],
  ["お誕生日おめでとう", [33334, 45918, 243, 21990, 9080, 33334, 62004, 16556, 78699]],
  ["👋", [9468, 239, 233]],
];
for (const [text, tokens] of texts)
  test(`tokens become text: ${JSON.stringify(text)}`, async () => {
    expect(await read(tokens)).toBe(text);
  });

test("a byte order mark at the beginning is kept", async () => {
  expect(await read([171, 119, 123, 9906])).toBe("\uFEFFHello");
});

test("a replacement character in the text is kept", async () => {
  expect(await read([5809])).toBe("\uFFFD");
});

test("a character that is cut off at either end is dropped without a replacement", async () => {
  // "👋" is three tokens of its four bytes, two of which are the last.
  expect(await read([9906, 9468, 239])).toBe("Hello");
  expect(await read([9906, 9468])).toBe("Hello");
  expect(await read([239, 233, 9906])).toBe("Hello");
  expect(await read([233, 9906, 9468])).toBe("Hello");
  expect(await read([9468, 239, 233, 9468])).toBe("👋");
});

test("tokens that are only a part of one character are the replacement character", async () => {
  for (const part of [[9468], [9468, 239], [239, 233], [233]]) {
    expect(await read(part)).toBe("\uFFFD");
  }
});

test("tokens that are cut inside a character are not decodable", async () => {
  expect(await read([9906, 9468, 1917])).toBeUndefined();
});

test("numbers that are not tokens, and special tokens, are not decodable", async () => {
  for (const odd of [-1, 0.5, 100_256, 100_257, 100_276, 200_000, Number.NaN, 2 ** 53])
    expect(await read([9906, odd])).toBeUndefined();
});

test("a special token, or a number that is not a token, is refused with its value", async () => {
  const refusal = async (tokens: readonly number[]): Promise<string> => {
    const query = {
      model: "m",
      input: { kind: "tokens" as const, tokens: [[9906], tokens] },
      single: false,
      encoding: "float" as const,
      extraFields: {},
    };
    const error = await decodeTokens(query, "cl100k_base").catch((thrown) => thrown);
    expect(error).toBeInstanceOf(GatewayError);
    expect(error.kind).toBe("invalid_input");
    return error.message;
  };
  expect(await refusal([9906, 100_257])).toContain(
    "Entry 1 holds 100257, the special token <|endoftext|> of cl100k_base",
  );
  expect(await refusal([100_276])).toContain("<|endofprompt|>");
  expect(await refusal([100_261])).toContain("100261, which is not a token of cl100k_base");
});
