/** `vexel embed` with inputs that cannot be what the user meant: nothing is sent, and the message says what to do. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parquetWriteFile } from "hyparquet-writer";
import { UsageError } from "../../cli/command.ts";
import { readRows } from "../../cli/embed/read-rows.ts";
import { nextTurn } from "../../server/lib/tasks.ts";
import { startFake } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import { embedWith, readJsonLines, texts, vectorOf, writeJsonl } from "./embed-fixture.ts";

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

const write = (name: string, content: string | Uint8Array): void =>
  writeFileSync(join(folder.path, name), content);
const embed = (input: string, ...args: string[]) =>
  embedWith(fake, folder.path, "--input", input, "--output", "vectors.jsonl", ...args);

/** Exit code 2, one sentence, no file and no request. */
async function expectRefused(input: string, args: string[], ...messages: string[]): Promise<void> {
  const before = readdirSync(folder.path).sort();
  const { code, out, err } = await embed(input, ...args);
  for (const message of messages) expect(err).toContain(message);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toMatch(/^vexel embed: [^\n]+\n$/);
  expect(readdirSync(folder.path).sort()).toEqual(before);
  expect(fake.requests).toHaveLength(0);
}

const writeParquet = (name: string): void =>
  parquetWriteFile({
    filename: join(folder.path, name),
    columnData: [
      { name: "key", data: ["a"], type: "STRING" },
      { name: "body", data: ["A text."], type: "STRING" },
    ],
  });

describe("a column that no row has is refused with the columns that exist:", () => {
  const columns = 'Its columns are "key", "body".';

  test("the text column of a small file", async () => {
    write("docs.csv", "key,body\n1,A cat.\n");
    writeParquet("docs.parquet");
    writeJsonl(folder.path, "docs.jsonl", [{ key: 1 }, { key: 2, body: "x" }]);
    for (const input of ["docs.csv", "docs.parquet", "docs.jsonl"])
      await expectRefused(input, [], '--text-column: the input has no column "text".', columns);
    write("semicolons.csv", "id;text\n1;A cat.\n");
    await expectRefused("semicolons.csv", [], 'Its columns are "id;text".');
  });

  test("the id column", async () => {
    write("docs.csv", "key,body\n1,A cat.\n");
    writeParquet("docs.parquet");
    for (const input of ["docs.csv", "docs.parquet"])
      await expectRefused(
        input,
        ["--text-column", "body", "--id-column", "kye"],
        '--id-column: the input has no column "kye".',
        columns,
      );
  });

  test("the column of --since", async () => {
    write("docs.csv", "key,body\n1,A cat.\n");
    writeParquet("docs.parquet");
    for (const input of ["docs.csv", "docs.parquet"])
      await expectRefused(
        input,
        ["--text-column", "body", "--since", "5", "--since-column", "changed"],
        '--since-column: the input has no column "changed".',
        columns,
      );
  });
});

test("a --since that cannot be compared with its column is refused, with the column and a value", async () => {
  writeJsonl(folder.path, "docs.jsonl", [
    { id: 1, text: "a", changed: "2026-11-01T10:00:00Z" },
    { id: 2, text: "b", changed: "2026-11-02" },
  ]);
  const column = ["--since-column", "changed"];
  const columns = 'Its columns are "id", "text", "changed".';
  for (const since of ["nope", "5"])
    await expectRefused(
      "docs.jsonl",
      ["--since", since, ...column],
      `--since: "${since}" is no time, and the column "changed" has times such as 2026-11-01T10:00:00Z.`,
      columns,
    );
  await expectRefused("docs.jsonl", ["--since", "2026-11-01"], 'is no number, and the column "id"');
  const month = await embed("docs.jsonl", "--since", "2026-11", ...column);
  expect(month.code).toBe(0);
});

test("a --since after every row is a run without rows, and says so", async () => {
  writeJsonl(folder.path, "docs.jsonl", texts(2));
  const { code, err } = await embed("docs.jsonl", "--since", "z");
  expect(code).toBe(0);
  expect(err).toContain(
    'warning: docs.jsonl has no rows whose column "id" is greater than z, so there is nothing to embed.',
  );
});

test("an input without rows is embedded with a warning", async () => {
  write("empty.jsonl", "");
  write("header.csv", "id,text\n");
  mkdirSync(join(folder.path, "docs"));
  for (const input of ["empty.jsonl", "header.csv", "docs"]) {
    const args = ["--input", input, "--output", `${input}.out.jsonl`];
    const { code, err } = await embedWith(fake, folder.path, ...args);
    expect(err).toContain(`warning: ${input} has no rows, so there is nothing to embed.`);
    expect(code).toBe(0);
  }
});

test("a quote that is not closed is refused with its line, and the rest of the file is not swallowed", async () => {
  write("docs.csv", 'id,text\n1,"two\nlines"\n2,"unclosed\n3,b\n');
  await expectRefused(
    "docs.csv",
    [],
    "--input: the quote that opens a field in line 4 is not closed.",
  );
  // The next field with quotes closes it: records 2 and 3 would be one.
  write("quotes.csv", 'id,text\n1,"a"\n2,"unclosed\n3,"b"\n4,c\n');
  await expectRefused(
    "quotes.csv",
    [],
    "--input: text follows the quote that closes a field, in line 4. Its field begins in line 3.",
  );
});

test("a file that is no Parquet, a truncated one and a damaged one are refused", async () => {
  writeParquet("good.parquet");
  const good = await Bun.file(join(folder.path, "good.parquet")).bytes();
  const damaged = Uint8Array.from(good);
  damaged.fill(0xff, 4, 60);
  for (const content of ["id,text\n", good.slice(0, good.length - 10), damaged]) {
    write("docs.parquet", content);
    await expectRefused("docs.parquet", ["--text-column", "body"], "docs.parquet");
  }
  write("docs.parquet", "no");
  await expectRefused("docs.parquet", [], "--input: docs.parquet is not a Parquet file");
});

describe("a damaged Parquet file", () => {
  const read = async (content: Uint8Array): Promise<unknown> => {
    const input = join(folder.path, "docs.parquet");
    writeFileSync(input, content);
    const options = { input, idColumn: "key", textColumn: "body", sinceColumn: "key" };
    const all = { since: undefined, limit: undefined, otherColumns: true, ownFiles: new Set("") };
    return Array.fromAsync(readRows({ ...options, ...all })).catch((error: unknown) => error);
  };
  const goodFile = async () => {
    writeParquet("good.parquet");
    return Buffer.from(await Bun.file(join(folder.path, "good.parquet")).bytes());
  };

  test("is read or refused, whichever byte is wrong, and never ends in another error", async () => {
    const good = await goodFile();
    const damages = [(byte: number) => byte ^ 0x11, (byte: number) => byte + 2];
    for (const damage of damages) {
      let refused = 0;
      for (let at = 0; at < good.length; at++) {
        const damaged = Buffer.from(good);
        damaged[at] = damage(good[at]!);
        const result = await read(damaged);
        if (Array.isArray(result)) continue;
        expect(result, `byte ${at}`).toBeInstanceOf(UsageError);
        refused++;
      }
      expect(refused).toBeGreaterThan(good.length / 4);
    }
  });

  test("with a list that its schema does not have is refused before another column is decoded", async () => {
    writeJsonl(folder.path, "docs.jsonl", [{ id: "some id", text: "A text." }]);
    await embedWith(fake, folder.path, "--input", "docs.jsonl", "--output", "vectors.parquet");
    const damaged = Buffer.from(await Bun.file(join(folder.path, "vectors.parquet")).bytes());
    // The compressed text of the first column, and the path of the second one in the row group.
    damaged.fill(0xff, damaged.indexOf("some id") - 5, damaged.indexOf("some id"));
    damaged.write("lisp", damaged.lastIndexOf("list"));
    expect(await read(damaged)).toBeInstanceOf(UsageError);
    // An error that is caught nowhere would fail this test.
    await nextTurn();
  });
});

test("an output folder that does not exist is refused", async () => {
  writeJsonl(folder.path, "docs.jsonl", texts(1));
  await expectRefused(
    "docs.jsonl",
    ["--output", "none/deep/vectors.jsonl"],
    "--output: the folder none/deep does not exist.",
  );
});

test("an input that the run would overwrite is refused", async () => {
  writeJsonl(folder.path, "vectors.jsonl.errors.jsonl", texts(1));
  await expectRefused(
    "vectors.jsonl.errors.jsonl",
    [],
    "--input: the run writes vectors.jsonl.errors.jsonl itself. Name another --output.",
  );
});

test("a folder that also has the output is embedded without the files of the run", async () => {
  write("a.txt", "first");
  write("z.txt", "last");
  fake.script({ fail: "quota" }, { times: 1 });
  const args = ["--batch-size", "1", "--concurrency", "1"];
  expect((await embed(".", ...args)).code).toBe(1);
  fake.script(
    { fail: "quota" },
    { times: 1, when: ({ json }) => JSON.stringify(json).includes("last") },
  );
  expect((await embed(".", ...args)).code).toBe(1);
  expect((await embed(".", ...args)).code).toBe(0);
  const rows = readJsonLines(folder.path, "vectors.jsonl");
  expect(rows.map(({ id }) => id)).toEqual(["a.txt", "z.txt"]);
  expect([...new Float32Array(rows[1]?.embedding ?? [])]).toEqual(vectorOf("last"));
});
