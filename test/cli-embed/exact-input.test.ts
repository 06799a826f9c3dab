/** `vexel embed` never changes, mixes up or replaces in silence what the input has. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parquetWriteFile } from "hyparquet-writer";
import { startFake } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import { embedWith, readJsonLines, readParquetFile } from "./embed-fixture.ts";

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

const pathOf = (name: string): string => join(folder.path, name);
const embed = (input: string, output: string, ...args: string[]) =>
  embedWith(fake, folder.path, "--input", input, "--output", output, ...args);
const idsIn = (name: string) => readJsonLines(folder.path, name).map(({ id }) => id);

async function expectRefused(input: string, message: string): Promise<void> {
  const before = readdirSync(folder.path);
  const { code, err } = await embed(input, "refused.jsonl");
  expect(err).toContain(message);
  expect(err).toMatch(/^vexel embed: [^\n]+\n$/);
  expect(code).toBe(2);
  expect(readdirSync(folder.path)).toEqual(before);
}

describe("integers of 64 bits keep their digits", () => {
  // Each pair is one number for JavaScript.
  const integers = [9007199254740992n, 9007199254740993n, -9223372036854775808n];
  const lines = integers.map((own) => `{"id":${own},"text":"text ${own}","other":${own}}\n`);

  test("in ids and in other columns", async () => {
    writeFileSync(pathOf("docs.jsonl"), lines.join(""));
    expect((await embed("docs.jsonl", "vectors.jsonl")).code).toBe(0);
    expect(idsIn("vectors.jsonl")).toEqual(integers.map(String));
    expect((await embed("docs.jsonl", "vectors.parquet")).code).toBe(0);
    const rows = await readParquetFile(folder.path, "vectors.parquet");
    expect(rows.map(({ id, other }) => ({ id, other }))).toEqual(
      integers.map((own) => ({ id: `${own}`, other: own })),
    );
  });

  test("in the comparison with --since, also of Parquet", async () => {
    writeFileSync(pathOf("docs.jsonl"), lines.join(""));
    parquetWriteFile({
      filename: pathOf("docs.parquet"),
      columnData: [
        { name: "id", data: integers, type: "INT64" },
        { name: "text", data: integers.map((own) => `text ${own}`), type: "STRING" },
      ],
    });
    for (const input of ["docs.jsonl", "docs.parquet"]) {
      const output = `${input}.out.jsonl`;
      expect((await embed(input, output, "--since", "9007199254740992")).code).toBe(0);
      expect(idsIn(output)).toEqual(["9007199254740993"]);
    }
  });
});

test("a Parquet file with a page header of zeros is refused, and the command ends", async () => {
  parquetWriteFile({
    filename: pathOf("docs.parquet"),
    columnData: [
      { name: "id", data: ["a", "b", "c", "d"], type: "STRING" },
      { name: "text", data: ["A text.", "Another.", "A third text.", "Four."], type: "STRING" },
    ],
  });
  const bytes = readFileSync(pathOf("docs.parquet"));
  writeFileSync(pathOf("docs.parquet"), bytes.fill(0, 60, 90));
  await expectRefused("docs.parquet", "is not a Parquet file that can be read: a page is damaged");
});

test("runs into outputs of one stem keep their own failed rows", async () => {
  for (const extension of ["jsonl", "parquet", "npy"]) {
    writeFileSync(
      pathOf("docs.jsonl"),
      `{"id":"good","text":"a"}\n{"id":"${extension}","text":""}\n`,
    );
    expect((await embed("docs.jsonl", `vectors.${extension}`)).code).toBe(3);
  }
  for (const extension of ["jsonl", "parquet", "npy"])
    expect(idsIn(`vectors.${extension}.errors.jsonl`)).toEqual([extension]);
});

describe("an input that is not UTF-8 is refused with the line:", () => {
  const latin = Buffer.from("caf\xe9", "latin1");

  test("a CSV file and a JSON Lines file", async () => {
    writeFileSync(pathOf("docs.csv"), Buffer.concat([Buffer.from("id,text\n1,é\n2,"), latin]));
    await expectRefused("docs.csv", "--input: line 3 is not a text in UTF-8.");
    const jsonl = ['{"id":1,"text":"é"}\n{"id":2,"text":"', latin, '"}\n{"id":3,"text":"a"}\n'];
    writeFileSync(pathOf("docs.jsonl"), Buffer.concat(jsonl.map((part) => Buffer.from(part))));
    await expectRefused("docs.jsonl", "--input: line 2 is not a text in UTF-8.");
  });

  test("a character that ends with a chunk of the file", async () => {
    const head = Buffer.from('{"id":1,"text":"a"}\n{"id":2,"text":"');
    const chunk = 64 * 1024;
    // The first byte of "é" ends the first chunk, and no second one follows.
    const cut = Buffer.concat([head, Buffer.alloc(chunk - head.length - 1, "x"), Buffer.of(0xc3)]);
    writeFileSync(pathOf("docs.jsonl"), Buffer.concat([cut, Buffer.from('"}\n{"id":3}\n')]));
    await expectRefused("docs.jsonl", "--input: line 2 is not a text in UTF-8.");
    const whole = Buffer.concat([cut, Buffer.of(0xa9), Buffer.from('"}\n\n'), latin]);
    writeFileSync(pathOf("docs.jsonl"), whole);
    await expectRefused("docs.jsonl", "--input: line 4 is not a text in UTF-8.");
    writeFileSync(pathOf("docs.jsonl"), cut);
    await expectRefused("docs.jsonl", "--input: line 2 is not a text in UTF-8.");
  });
});

test("a CSV file with two columns of one name is refused", async () => {
  writeFileSync(pathOf("docs.csv"), "id,text,text\n1,a,b\n");
  await expectRefused("docs.csv", '--input: the first record names the column "text" twice.');
});

test("the number of a row is never an id beside ids of the input", async () => {
  writeFileSync(pathOf("docs.jsonl"), '{"id":2,"text":"a"}\n{"text":"b"}\n{"id":3,"text":"c"}\n');
  expect((await embed("docs.jsonl", "some.jsonl")).code).toBe(3);
  expect(idsIn("some.jsonl")).toEqual([2, 3]);
  expect(readJsonLines<object>(folder.path, "some.jsonl.errors.jsonl")).toEqual([
    { id: 2, text: "b", error: 'The row has no id in the column "id".' },
  ]);
  writeFileSync(pathOf("docs.jsonl"), '{"text":"a"}\n{"id":1,"text":"b"}\n');
  expect((await embed("docs.jsonl", "none.jsonl")).code).toBe(3);
  expect(idsIn("none.jsonl")).toEqual([1]);
  const [failed] = readJsonLines<{ error: string }>(folder.path, "none.jsonl.errors.jsonl");
  expect(failed?.error).toContain("the first row has none: give an id to all rows, or to none.");
});
