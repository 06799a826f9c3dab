/** The input file of a batch is validated as a stream, in steps, and every error names its line, code and parameter. */
import { describe, expect, test } from "bun:test";
import { type InputLine, readLines } from "../../server/batches/read-lines.ts";
import { type BatchLimits, validateInput } from "../../server/batches/validate-input.ts";
import { ByteTurns } from "../../server/lib/byte-turns.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { embeddingLine, line } from "./lines.ts";

/** The bytes in chunks of this size. */
async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

const limits: BatchLimits = { maxLines: 100, maxLineBytes: 10_000, maxTextBytes: 10_000 };
/** By a clock that stands still, there are no turns by time. */
const turnsBy = (clock = (): number => 0) => new ByteTurns(clock).steps("owner");

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
      if (input === undefined)
        throw new GatewayError("missing_parameter", "Missing parameter.", { param: "input" });
      if (model.startsWith("\u0001"))
        throw new GatewayError("model_not_found", `No model ${model}.`, { param: "model" });
      if (model === "none")
        throw new GatewayError("model_not_found", "No such model.", { param: "model" });
      return {
        model,
        inputs: Array.isArray(input) ? input.length : 1,
        tokens: 3,
        imageDollars: 0.5,
      };
    },
    turns: turnsBy(),
  });
};

describe("lines", () => {
  const read = async (text: string | Uint8Array, size: number, maxBlankLines = 100) => {
    const lines: InputLine[] = [];
    const chunks = inChunks(Buffer.from(text), size);
    const reading = {
      position: 0,
      maxLineBytes: 100,
      maxTextBytes: 90,
      maxBlankLines,
      turns: turnsBy(),
    };
    for await (const each of readLines(chunks, reading)) lines.push(each);
    return lines;
  };
  test.each([1, 2, 3, 5, 1000])("are the same in chunks of %i bytes", async (size) => {
    expect(await read('"ä"\n\n \r\n"b c"\r\n"last"', size)).toEqual([
      { position: 0, number: 1, value: "ä" },
      { position: 9, number: 4, value: "b c" },
      { position: 16, number: 5, value: "last" },
    ]);
    expect(await read("\ufeff1\n2\n", size)).toEqual([
      { position: 0, number: 1, value: 1 },
      { position: 5, number: 2, value: 2 },
    ]);
    const [invalid, long, longText, notJson, fine] = await read(
      Buffer.concat([
        Buffer.from([0xff, 10]),
        Buffer.from(`${"x".repeat(101)}\n${"x".repeat(91)}\nno\n"ok"`),
      ]),
      size,
    );
    expect(invalid).toMatchObject({ number: 1, problem: expect.stringContaining("UTF-8") });
    expect(long).toMatchObject({ number: 2, problem: expect.stringContaining("may have 100") });
    expect(longText).toMatchObject({ number: 3, problem: expect.stringContaining("may have 90") });
    expect(notJson).toMatchObject({ number: 4, problem: expect.stringContaining("JSON") });
    expect(fine).toEqual({ position: 199, number: 5, value: "ok" });
  });

  test("that are blank are skipped up to a maximum, and nothing is read after it", async () => {
    expect(await read("\n \n1\n", 3, 2)).toMatchObject([{ number: 3, value: 1 }]);
    expect(await read("\n \n1\n\n2\n", 3, 2)).toMatchObject([
      { number: 3, value: 1 },
      { number: 4, problem: expect.stringContaining("more than 2 blank lines") },
    ]);
  });

  test("with a long data: URL may be longer than other lines", async () => {
    const text = (start: string) => JSON.stringify({ image_url: `${start}${"A".repeat(70_000)}` });
    const lines: InputLine[] = [];
    const chunks = inChunks(Buffer.from(`${text("data:image/png;base64,")}\n${text("x")}\n`), 999);
    const sizes = { maxLineBytes: 100_000, maxTextBytes: 1000, maxBlankLines: 0 };
    for await (const each of readLines(chunks, { position: 0, ...sizes, turns: turnsBy() }))
      lines.push(each);
    expect(lines[0]?.value).toEqual(JSON.parse(text("data:image/png;base64,")));
    expect(lines[1]).toMatchObject({ problem: expect.stringContaining("may have 1000") });
  });
});

describe("other requests are served while lines are read", () => {
  const sizes = { position: 0, maxLineBytes: 1e9, maxTextBytes: 1e9, maxBlankLines: 1e9 };
  const blank = (bytes: number) => inChunks(Buffer.alloc(bytes, "\n"), 100_000);

  /** How often the event loop has run meanwhile. */
  async function turnsDuring(work: () => Promise<void>): Promise<number> {
    let turns = 0;
    let isOver = false;
    const onTurn = (): void => {
      turns++;
      if (!isOver) setImmediate(onTurn);
    };
    onTurn();
    await work();
    isOver = true;
    return turns;
  }
  const readAll = async (lines: AsyncIterable<InputLine>): Promise<void> => {
    for await (const _ of lines);
  };

  test("after 512 KiB, also if they are blank", async () => {
    const turns = await turnsDuring(() =>
      readAll(readLines(blank(2 ** 20), { ...sizes, turns: turnsBy() })),
    );
    expect(turns).toBeGreaterThanOrEqual(2);
  });

  test("after 5 ms, also if they are blank", async () => {
    // Each time that it is read, a millisecond has passed.
    let ms = 0;
    const ticking = (): number => ms++;
    const lines = readLines(blank(10_000), { ...sizes, turns: turnsBy(ticking) });
    expect(await turnsDuring(() => readAll(lines))).toBeGreaterThan(1000);
  });

  test("after each step of one of several files, and not of each of them", async () => {
    const byteTurns = new ByteTurns(() => 0);
    const readAs = (owner: string) =>
      readAll(readLines(blank(2 ** 20), { ...sizes, turns: byteTurns.steps(owner) }));
    const owners = ["a", "a", "b", "b", "c", "c"];
    const one = await turnsDuring(() => readAs("a"));
    const all = await turnsDuring(async () => void (await Promise.all(owners.map(readAs))));
    expect(all).toBeGreaterThanOrEqual((owners.length - 1) * one);
  });

  test("also while the chunks of a long line are joined", async () => {
    const bytes = Buffer.from(`"${"x".repeat(8 * 2 ** 20)}"`);
    const turnsOf = (size: number) =>
      turnsDuring(() => readAll(readLines(inChunks(bytes, size), { ...sizes, turns: turnsBy() })));
    const joined = await turnsOf(2 ** 16);
    // A single chunk is read in a step, and not copied.
    expect(joined).toBeGreaterThan((await turnsOf(bytes.length)) + (3 * bytes.length) / 2 ** 19);
  });

  test("also within one large line, before and after it is parsed", async () => {
    let ms = 0;
    const slow = (): number => (ms += 10);
    const texts = Array.from({ length: 2000 }, (_, at) => `${at} ${"word ".repeat(600)}`);
    const large = Buffer.from(embeddingLine("large", texts));
    const whole = async function* () {
      yield large;
    };
    const turns = await turnsDuring(() =>
      readAll(readLines(whole(), { ...sizes, turns: turnsBy(slow) })),
    );
    expect(turns).toBeGreaterThan(large.length / 2 ** 18);
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
    validLines: 3,
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
    [line("1", "/v1/images/edits", body), "invalid_url", "url"],
    [line("1", url, [body]), "invalid_request", "body"],
    [line("1", url, null), "missing_required_parameter", "body"],
    [line("1", url, { ...body, stream: true }), "streaming_unsupported", "body.stream"],
    [line("1", url, { ...body, model: "none" }), "model_not_found", "body.model"],
    [line("1", url, { model: "m" }), "invalid_request", "body.input"],
    [good, "duplicate_custom_id", "custom_id"],
    [line("1", url, { ...body, input: "x".repeat(10_000) }), "invalid_json_line", null],
  ] as const)("line %#", async (bad, code, param) => {
    expect(await validate(`${good}\n${bad}`)).toEqual({
      errors: [{ code, message: expect.stringMatching(/.{10}/), param, line: 3 }],
    });
  });

  const large = { maxLineBytes: 10_000_000, maxTextBytes: 10_000_000 };
  const beyondBounds = [
    ["arrays and objects", `[${"[],".repeat(140_000)}[]]`],
    ["levels deep", "[".repeat(200) + "]".repeat(200)],
    ["values", `[${"1,".repeat(530_000)}1]`],
    ["fields", `{${'"a":1,'.repeat(20_000)}"b":2}`],
    ["bytes outside of strings", `[${"1.000000000,".repeat(400_000)}1]`],
  ] as const;
  test.each(beyondBounds)(
    "a line with too many %s in its body is not parsed, and does not fail the file",
    async (_, input) => {
      const text = `{"custom_id":"1","method":"POST","url":"${url}","body":{"model":"m","input":${input}}}\n`;
      expect(await validate(`${text}${good}`, large)).toMatchObject({ validLines: 1, tokens: 3 });
      const twice = await validate(`${text}${text}`, large);
      expect(twice).toMatchObject({ errors: [{ code: "duplicate_custom_id", line: 2 }] });
      const [wrong] = [text.replace('"POST"', '"GET"')];
      expect(await validate(wrong, large)).toMatchObject({ errors: [{ param: "method" }] });
    },
  );

  test.each([
    [
      "that does not end",
      `{"custom_id":"1","method":"POST","url":"${url}","body":${"[".repeat(200)}`,
    ],
    ["with too many fields of its own", `{${'"a":1,'.repeat(20_000)}"b":2}`],
  ])("a line beyond the bounds %s fails the file", async (_, text) => {
    expect(await validate(`${text}\n${good}`, large)).toMatchObject({
      errors: [{ code: "invalid_json_line", line: 1 }],
    });
  });

  test("a line with another invalid value does not fail the file, and counts nothing but a line", async () => {
    const bad = line("bad", url, { ...body, input: 1 });
    expect(await validate(`${good}${bad}${embeddingLine("last")}`)).toMatchObject({
      ranges: [
        { firstLine: 0, lines: 2, inputs: 1 },
        { firstLine: 2, lines: 1, inputs: 1 },
      ],
      validLines: 2,
      model: "embedding-model",
      tokens: 6,
    });
    expect(await validate(bad)).toMatchObject({ validLines: 0, model: undefined, tokens: 0 });
    expect(await validate(`${bad}${bad}`)).toMatchObject({
      errors: [{ code: "duplicate_custom_id", line: 2 }],
    });
  });

  test("the errors of a file have bounded bytes, whatever the client sent", async () => {
    const name = "\u0001".repeat(2000);
    const lines = Array.from({ length: 90 }, (_, at) =>
      line(`${at}`, "/v1/embeddings", { model: name, input: "a" }),
    );
    const result = await validate(lines.join(""), { maxLineBytes: 100_000, maxTextBytes: 100_000 });
    const errors = "errors" in result ? result.errors : [];
    expect(errors.length).toBeGreaterThan(5);
    expect(JSON.stringify(errors).length).toBeLessThan(36 * 1024);
    for (const { message } of errors) expect(message).toHaveLength(500);
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

  test("a file with more blank lines than it may have lines is refused, wherever they are", async () => {
    const blank = "\n".repeat(limits.maxLines);
    expect(await validate(`${blank}${good}`)).toMatchObject({ validLines: 1 });
    const message = expect.stringContaining("more than 100 blank lines");
    const number = limits.maxLines + 2;
    expect(await validate(`${good}${blank} \n${good}`)).toEqual({
      errors: [{ code: "invalid_json_line", message, param: null, line: number }],
    });
    expect(await validate("\n".repeat(100_000))).toMatchObject({ errors: [{ line: 101 }] });
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
