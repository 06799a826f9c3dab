/** `vexel embed`: the other columns of a row in Parquet. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { parquetWriteFile } from "hyparquet-writer";
import { startFake } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import {
  embedWith,
  readJsonLines,
  readParquetFile,
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

const embed = (input: string, ...args: string[]) =>
  embedWith(fake, folder.path, "--input", input, "--output", "vectors.parquet", ...args);

/** The rows of the output without their vectors. */
async function otherColumns(): Promise<Record<string, unknown>[]> {
  const rows = await readParquetFile(folder.path, "vectors.parquet");
  return rows.map(({ embedding, ...others }) => {
    expect(embedding).toHaveLength(8);
    return others;
  });
}

describe("a Parquet output has the other columns of the rows", () => {
  test("of JSON Lines, with the type that all values have, and nested values as JSON", async () => {
    writeJsonl(folder.path, "docs.jsonl", [
      { id: 1, text: "a", title: "A", year: 2024, score: 1, live: true, tags: ["x"], mixed: 1 },
      { id: 2, text: "b", title: "B", year: 1999, score: 0.5, live: false, mixed: "one", late: 3 },
      { id: 3, text: "c", title: null, tags: { deep: [1] }, mixed: true },
    ]);
    expect((await embed("docs.jsonl")).code).toBe(0);
    const absent = { title: null, year: null, score: null, live: null, tags: null, late: null };
    expect(await otherColumns()).toEqual([
      {
        ...absent,
        ...{ id: "1", title: "A", year: 2024n, score: 1, live: true, tags: '["x"]', mixed: "1" },
      },
      {
        ...absent,
        ...{ id: "2", title: "B", year: 1999n, score: 0.5, live: false, mixed: "one", late: 3n },
      },
      { ...absent, id: "3", tags: '{"deep":[1]}', mixed: "true" },
    ]);
  });

  test("of CSV, as texts", async () => {
    writeFileSync(join(folder.path, "docs.csv"), "url,id,text,n\nhttp://a,1,A.,7\n,2,B.,8\n");
    expect((await embed("docs.csv")).code).toBe(0);
    expect(await otherColumns()).toEqual([
      { id: "1", url: "http://a", n: "7" },
      { id: "2", url: "", n: "8" },
    ]);
  });

  test("of Parquet, with their types", async () => {
    const when = new Date("2026-11-18T12:00:00.123Z");
    const bytes = new Uint8Array([0, 255, 128]);
    parquetWriteFile({
      filename: join(folder.path, "docs.parquet"),
      columnData: [
        { name: "key", data: ["a", "b"], type: "STRING" },
        { name: "body", data: ["A.", "B."], type: "STRING" },
        { name: "small", data: [1, 2], type: "INT32" },
        { name: "large", data: [2n ** 62n, -1n], type: "INT64" },
        { name: "price", data: [1, Number.NaN], type: "DOUBLE" },
        { name: "when", data: [when, null], type: "TIMESTAMP", nullable: true },
        { name: "live", data: [true, false], type: "BOOLEAN" },
        { name: "raw", data: [bytes, bytes], type: "BYTE_ARRAY" },
        { name: "nothing", data: [null, null], type: "STRING", nullable: true },
      ],
    });
    const names = ["--id-column", "key", "--text-column", "body"];
    expect((await embed("docs.parquet", ...names)).code).toBe(0);
    const file = await asyncBufferFromFile(join(folder.path, "vectors.parquet"));
    const rows = await parquetReadObjects({ file, utf8: false });
    const both = { raw: bytes, nothing: null };
    expect(rows.map(({ embedding, ...others }) => others)).toEqual([
      { id: "a", small: 1n, large: 2n ** 62n, price: 1, when, live: true, ...both },
      { id: "b", small: 2n, large: -1n, price: Number.NaN, when: null, live: false, ...both },
    ]);
    expect(rows[0]?.embedding).toEqual(vectorOf("A."));
  });

  test("of Parquet, with the microseconds of times", async () => {
    const micros = [1_763_467_200_123_456n, -1n];
    const text = {
      type: "BYTE_ARRAY",
      converted_type: "UTF8",
      repetition_type: "REQUIRED",
    } as const;
    parquetWriteFile({
      filename: join(folder.path, "docs.parquet"),
      schema: [
        { name: "schema", num_children: 2 },
        { name: "text", ...text },
        { name: "at", type: "INT64", converted_type: "TIMESTAMP_MICROS" },
      ],
      columnData: [
        { name: "text", data: ["A.", "B."] },
        { name: "at", data: micros },
      ],
    });
    expect((await embed("docs.parquet")).code).toBe(0);
    const file = await asyncBufferFromFile(join(folder.path, "vectors.parquet"));
    const parsers = { timestampFromMicroseconds: (value: bigint) => value };
    const rows = await parquetReadObjects({ file, parsers });
    expect(rows.map(({ at }) => at)).toEqual(micros);
  });

  test("after a run that was continued", async () => {
    const rows = texts(20).map((row, at) => ({ ...row, title: `title ${at}`, at }));
    writeJsonl(folder.path, "docs.jsonl", rows);
    const isLast = {
      when: ({ json }: { json?: unknown }) => /number 12"/.test(JSON.stringify(json)),
    };
    fake.script({ fail: "quota" }, { times: 1000, ...isLast });
    const args = ["--batch-size", "4", "--concurrency", "1"];
    expect((await embed("docs.jsonl", ...args)).code).toBe(1);
    fake.clear();
    writeJsonl(folder.path, "docs.jsonl", rows.with(2, { ...rows[2]!, title: "another" }));
    const changed = await embed("docs.jsonl", ...args);
    expect(changed.err).toContain(
      "one of the first 12 rows, which were embedded or have failed, is another one now",
    );
    expect(changed.code).toBe(2);
    writeJsonl(folder.path, "docs.jsonl", rows);
    expect((await embed("docs.jsonl", ...args)).code).toBe(0);
    expect(await otherColumns()).toEqual(
      rows.map(({ id, title, at }) => ({ id, title, at: BigInt(at) })),
    );
  });

  test("also of rows that failed, in the error file", async () => {
    writeJsonl(folder.path, "docs.jsonl", [
      { id: 1, text: "a", title: "A" },
      { id: 2, text: "", title: "B" },
    ]);
    expect((await embed("docs.jsonl")).code).toBe(3);
    expect(readJsonLines<object>(folder.path, "vectors.parquet.errors.jsonl")).toEqual([
      { id: 2, text: "", title: "B", error: "The text is empty." },
    ]);
    parquetWriteFile({
      filename: join(folder.path, "docs.parquet"),
      columnData: [
        { name: "text", data: ["A.", ""], type: "STRING" },
        { name: "at", data: [new Date(0), new Date(5)], type: "TIMESTAMP" },
      ],
    });
    const args = ["--input", "docs.parquet", "--output", "other.parquet"];
    expect((await embedWith(fake, folder.path, ...args)).code).toBe(3);
    expect(readJsonLines<object>(folder.path, "other.parquet.errors.jsonl")).toEqual([
      { id: 2, text: "", at: "1970-01-01T00:00:00.005Z", error: "The text is empty." },
    ]);
  });

  test("up to 1,000, and says that further ones are left out", async () => {
    const wide = Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [`c${at}`, at]));
    writeJsonl(folder.path, "docs.jsonl", [{ id: 1, text: "a", ...wide }]);
    const { code, err } = await embed("docs.jsonl");
    expect(code).toBe(0);
    expect(err).toContain("has 1000 other columns: further ones are left out.");
    const [row] = await otherColumns();
    expect(Object.keys(row ?? {})).toHaveLength(1001);
  });

  test("but not those whose name the output needs, with a warning", async () => {
    writeJsonl(folder.path, "docs.jsonl", [{ id: 1, key: "k", text: "a", embedding: [1] }]);
    const { code, err } = await embed("docs.jsonl", "--id-column", "key");
    expect(code).toBe(0);
    for (const name of ["id", "embedding"])
      expect(err).toContain(`warning: the column "${name}" of the input is not in the output`);
    expect(await otherColumns()).toEqual([{ id: "k" }]);
  });
});

test("a JSON Lines output has id and vector only", async () => {
  writeJsonl(folder.path, "docs.jsonl", [{ id: 1, text: "a", title: "A" }]);
  const args = ["--input", "docs.jsonl", "--output", "vectors.jsonl"];
  await embedWith(fake, folder.path, ...args);
  expect(readFileSync(join(folder.path, "vectors.jsonl"), "utf8")).toStartWith(
    '{"id":1,"embedding":[',
  );
});
