/** The input file of a batch is validated as a stream, and every error names its line, code and parameter. */
import { describe, expect, test } from "bun:test";
import { type InputLine, readLines } from "../../server/batches/read-lines.ts";
import { type BatchLimits, validateInput } from "../../server/batches/validate-input.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { embeddingLine, line } from "./lines.ts";

/** The bytes in chunks of this size. */
async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

const limits: BatchLimits = { maxLines: 100, maxLineBytes: 10_000 };

const validate = (text: string | Uint8Array, more: Partial<BatchLimits> = {}) => {
  const bytes = Buffer.from(text);
  return validateInput({
    limits: { ...limits, ...more },
    endpoint: "/v1/embeddings",
    rangeLines: 2,
    size: bytes.length,
    open: () => inChunks(bytes, 7),
    check: async (body) => {
      const { model, input } = body as { model: string; input: unknown };
      if (input === 1) throw new GatewayError("invalid_type", "Invalid type.", { param: "input" });
      return {
        model,
        inputs: Array.isArray(input) ? input.length : 1,
        tokens: 3,
        imageDollars: 0.5,
      };
    },
  });
};

describe("lines", () => {
  const read = async (text: string | Uint8Array, size: number, maxLineBytes = 100) => {
    const lines: InputLine[] = [];
    const chunks = inChunks(Buffer.from(text), size);
    for await (const each of readLines(chunks, { position: 0, maxLineBytes })) lines.push(each);
    return lines;
  };
  test.each([1, 2, 3, 5, 1000])("are the same in chunks of %i bytes", async (size) => {
    expect(await read("ä\n\n \r\nb c\r\nlast", size)).toEqual([
      { position: 0, number: 1, text: "ä" },
      { position: 7, number: 4, text: "b c\r" },
      { position: 12, number: 5, text: "last" },
    ]);
    expect(await read("\ufeffa\nb\n", size)).toEqual([
      { position: 0, number: 1, text: "a" },
      { position: 5, number: 2, text: "b" },
    ]);
    const [invalid, long, fine] = await read(
      Buffer.concat([Buffer.from([0xff, 10]), Buffer.from(`${"x".repeat(101)}\nok`)]),
      size,
    );
    expect(invalid).toMatchObject({ number: 1, text: undefined });
    expect(long).toMatchObject({ number: 2, text: undefined });
    expect(fine).toEqual({ position: 104, number: 3, text: "ok" });
  });
});

test("a repeated id is found among many lines, and no other id", async () => {
  const count = 1000;
  const lines = Array.from({ length: count }, (_, at) => embeddingLine(`request-${at}`));
  const size = { maxLines: 2 * count };
  expect(await validate(lines.join(""), size)).toMatchObject({ tokens: 3 * count });
  expect(await validate([...lines, lines[7]].join(""), size)).toMatchObject({
    errors: [{ code: "duplicate_custom_id", line: count + 1 }],
  });
});

test("a valid file is divided into ranges of lines", async () => {
  const text = `${embeddingLine("a")}\n${embeddingLine("b")}${embeddingLine("c")}`;
  const end = text.length - embeddingLine("c").length;
  expect(await validate(text)).toEqual({
    ranges: [
      { firstLine: 0, lines: 2, position: 0, bytes: end, inputs: 2 },
      { firstLine: 2, lines: 1, position: end, bytes: text.length - end, inputs: 1 },
    ],
    model: "embedding-model",
    tokens: 9,
    imageDollars: 1.5,
  });
  const two = embeddingLine("a") + line("b", "/embeddings", { model: "another", input: "x" });
  expect(await validate(two)).toMatchObject({ model: undefined });
});

describe("an error names its line, code and parameter", () => {
  const good = embeddingLine("good");
  const url = "/v1/embeddings";
  const body = { model: "m", input: "x" };
  const raw = (fields: object) => `${JSON.stringify(fields)}\n`;
  test.each([
    ["{", "invalid_json_line", null],
    ["[1]\n", "invalid_json_line", null],
    [raw({ method: "POST", url, body }), "missing_required_parameter", "custom_id"],
    [raw({ custom_id: "1", url, body }), "missing_required_parameter", "method"],
    [raw({ custom_id: "1", method: "POST", body }), "missing_required_parameter", "url"],
    [raw({ custom_id: "1", method: "POST", url }), "missing_required_parameter", "body"],
    [raw({ custom_id: 1, method: "POST", url, body }), "invalid_request", "custom_id"],
    [raw({ custom_id: "1", method: "GET", url, body }), "invalid_request", "method"],
    [line("1", "/v1/images/edits", body), "url_mismatch", "url"],
    [line("1", url, [body]), "invalid_request", "body"],
    [line("1", url, { ...body, stream: true }), "invalid_request", "body.stream"],
    [line("1", url, { ...body, input: 1 }), "invalid_type", "body.input"],
    [good, "duplicate_custom_id", "custom_id"],
    [line("1", url, { ...body, input: "x".repeat(10_000) }), "invalid_json_line", null],
  ] as const)("line %#", async (bad, code, param) => {
    expect(await validate(`${good}\n${bad}`)).toEqual({
      errors: [{ code, message: expect.stringMatching(/.{10}/), param, line: 3 }],
    });
  });

  test.each([
    ["arrays and objects", `[${"[],".repeat(140_000)}[]]`],
    ["levels deep", "[".repeat(200) + "]".repeat(200)],
  ])("a line with too many %s is refused before it is parsed", async (what, input) => {
    const text = `{"custom_id":"1","method":"POST","url":"${url}","body":{"model":"m","input":${input}}}\n`;
    const message = expect.stringContaining(what);
    expect(await validate(text, { maxLineBytes: 1_000_000 })).toEqual({
      errors: [{ code: "invalid_json_line", message, param: null, line: 1 }],
    });
  });

  test("all lines are checked, up to 100 errors", async () => {
    expect(await validate(`{\n${good}[]\n`)).toMatchObject({
      errors: [{ line: 1 }, { line: 3 }],
    });
    expect(await validate(`${good}{\n${good}`)).toMatchObject({
      errors: [
        { line: 2, code: "invalid_json_line" },
        { line: 3, code: "duplicate_custom_id" },
      ],
    });
    const result = await validate("{\n".repeat(1000), { maxLines: 2000 });
    expect("errors" in result && result.errors).toHaveLength(100);
  });

  test.each([
    ["", "empty_file"],
    ["\n \n", "empty_file"],
    [Array.from({ length: 101 }, (_, at) => embeddingLine(`${at}`)).join(""), "too_many_tasks"],
    [
      embeddingLine("a", Array(60).fill("x")) + embeddingLine("b", Array(41).fill("x")),
      "too_many_tasks",
    ],
  ])("a file that is empty or too large %#", async (text, code) => {
    expect(await validate(text)).toEqual({
      errors: [{ code, message: expect.any(String), param: null, line: null }],
    });
  });
});
