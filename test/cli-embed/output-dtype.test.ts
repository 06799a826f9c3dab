/** `vexel embed --output-dtype`: vectors of small integers in every output format. */
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { asyncBufferFromFile, parquetMetadataAsync } from "hyparquet";
import { startFake } from "../fake-upstream.ts";
import { startGateway, temporaryFolder, testKey } from "../harness.ts";
import { vexel } from "../process/process-fixture.ts";
import {
  embedWith,
  readJsonLines,
  readNpy,
  readParquetFile,
  serverEnvironment,
  texts,
  vectorOf,
  writeJsonl,
} from "./embed-fixture.ts";

const fake = startFake();
let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => {
  fake.clear();
  folder[Symbol.dispose]();
});
afterAll(() => fake.close());

/** A gateway before the fake OpenAI, which has no quantized vectors: the gateway computes those of bits. */
const startGatewayOfFake = () =>
  startGateway({
    yaml: `keys: [{ name: test, key: ${testKey} }]
upstreams: [{ id: openai, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }]
models:
  - id: search
    kind: embedding
    targets: [{ upstream: openai, model: text-embedding-3-small }]
`,
  });

/** As `numpy.packbits` does it. */
const bitsOf = (text: string): number =>
  vectorOf(text).reduce((byte, number, at) => byte | (number >= 0 ? 1 << (7 - at) : 0), 0);

test("binary and ubinary vectors of a gateway are in every output format, as NumPy and Parquet have such numbers", async () => {
  const gateway = startGatewayOfFake();
  try {
    const rows = texts(30);
    writeJsonl(folder.path, "docs.jsonl", rows);
    const embed = (output: string, type: string) =>
      vexel(
        [
          ...["embed", "--model", "search", "--dimensions", "8", "--batch-size", "7"],
          ...["--input", "docs.jsonl", "--output", output, "--output-dtype", type],
        ],
        { cwd: folder.path, env: serverEnvironment({ url: gateway.baseURL }, testKey) },
      );
    for (const [type, offset, numpy] of [
      ["ubinary", 0, "|u1"],
      ["binary", 128, "|i1"],
    ] as const) {
      const expected = rows.map(({ text }) => bitsOf(text) - offset);
      for (const format of ["jsonl", "npy", "parquet"]) {
        const { code, err } = await embed(`${type}.${format}`, type);
        expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining("30 vectors.") });
      }
      const lines = readJsonLines(folder.path, `${type}.jsonl`);
      expect(lines).toEqual(rows.map(({ id }, at) => ({ id, embedding: [expected[at]!] })));
      const { header, numbers } = readNpy(folder.path, `${type}.npy`);
      expect(header).toContain(`{'descr': '${numpy}', 'fortran_order': False, 'shape': (30, 1), }`);
      expect([...numbers]).toEqual(expected);
      const read = await readParquetFile(folder.path, `${type}.parquet`);
      expect(read).toEqual(rows.map(({ id }, at) => ({ id, embedding: [expected[at]!] })));
      const file = await asyncBufferFromFile(join(folder.path, `${type}.parquet`));
      const { schema } = await parquetMetadataAsync(file);
      expect(schema.at(-1)).toMatchObject({
        name: "element",
        converted_type: offset === 0 ? "UINT_8" : "INT_8",
      });
    }
    const refused = await embed("int8.jsonl", "int8");
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("output_dtype");
    expect(refused.err).toContain("The server refuses the options of this run: correct them.");
  } finally {
    await gateway.close();
  }
});

test("int8 vectors of the server are stored as they are, also after a run that was continued", async () => {
  const rows = texts(12);
  writeJsonl(folder.path, "docs.jsonl", rows);
  const vector = [-128, -1, 0, 127];
  const answerTo = (count: number): string =>
    JSON.stringify({
      data: Array.from({ length: count }, (_, index) => ({ index, embedding: vector })),
    });
  const args = ["--input", "docs.jsonl", "--output", "vectors.npy", "--output-dtype", "int8"];
  const small = ["--batch-size", "4", "--concurrency", "1"];
  const embed = () => embedWith(fake, folder.path, ...args, ...small);
  const answer = { response: { status: 200, body: answerTo(4) } };
  fake.script(answer, { times: 2 });
  fake.script({ fail: "quota" }, { times: 1 });
  expect((await embed()).code).toBe(1);
  const other = await embedWith(fake, folder.path, ...args.slice(0, 4), ...small);
  expect(other.err).toContain("another --output-dtype (int8)");
  fake.clear();
  fake.script(answer, { times: 1 });
  expect((await embed()).code).toBe(0);
  expect(fake.requests[0]?.json).toMatchObject({ output_dtype: "int8" });
  expect(fake.requests[0]?.json).not.toHaveProperty("encoding_format");
  expect([...readNpy(folder.path, "vectors.npy").numbers]).toEqual(rows.flatMap(() => vector));
});

test("a server that ignores output_dtype ends the run at the first answer", async () => {
  writeJsonl(folder.path, "docs.jsonl", texts(3));
  const args = ["--input", "docs.jsonl", "--output", "vectors.jsonl", "--output-dtype", "int8"];
  const body = JSON.stringify({ data: texts(3).map(() => ({ embedding: [0.25, -0.5] })) });
  fake.script({ response: { status: 200, body } }, { times: 10 });
  const { code, err } = await embedWith(fake, folder.path, ...args);
  expect(code).toBe(1);
  expect(err).toContain("The server sent vectors that are not int8.");
  expect(fake.requests).toHaveLength(1);
  expect(readdirSync(folder.path)).toEqual(["docs.jsonl"]);
});

test("a type that does not exist is refused with the types", async () => {
  writeJsonl(folder.path, "docs.jsonl", texts(1));
  const args = ["--input", "docs.jsonl", "--output", "vectors.jsonl", "--output-dtype", "int4"];
  const { code, err } = await embedWith(fake, folder.path, ...args);
  expect(code).toBe(2);
  expect(err).toContain(
    '--output-dtype must be float, int8, uint8, binary or ubinary, not "int4" (did you mean int8?).',
  );
});
