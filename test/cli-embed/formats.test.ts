/** `vexel embed`: every format of input and output. */
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { parquetWriteFile } from "hyparquet-writer";
import { startFake } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import {
  dimensions,
  embedWith,
  readJsonLines,
  readLines,
  readNpy,
  readParquetFile,
  texts,
  vectorOf,
  writeJsonl,
} from "./embed-fixture.ts";

const fake = startFake();
const folders: Disposable[] = [];
const newFolder = (): string => {
  const folder = temporaryFolder();
  folders.push(folder);
  return folder.path;
};
afterEach(() => {
  fake.clear();
  for (const folder of folders.splice(0)) folder[Symbol.dispose]();
});
afterAll(() => fake.close());

const expected = (rows: readonly { id: string | number; text: string }[]) =>
  rows.map(({ id, text }) => ({ id, embedding: vectorOf(text) }));
/** JSON has the shortest digits of a float32, which are another double. */
const asFloat32 = (rows: readonly { id: string | number; embedding: readonly number[] }[]) =>
  rows.map(({ id, embedding }) => ({ id, embedding: [...new Float32Array(embedding)] }));

describe("the output", () => {
  const rows = texts(25);

  test("as JSON Lines has the vector of each row in the order of the input", async () => {
    const folder = newFolder();
    writeJsonl(folder, "docs.jsonl", rows);
    const args = ["--input", "docs.jsonl", "--output", "vectors.jsonl", "--batch-size", "4"];
    const { code, err } = await embedWith(fake, folder, ...args);
    expect(err).toContain("vectors.jsonl: 25 vectors.");
    expect(code).toBe(0);
    expect(asFloat32(readJsonLines(folder, "vectors.jsonl"))).toEqual(expected(rows));
    expect(readdirSync(folder).sort()).toEqual(["docs.jsonl", "vectors.jsonl"]);
    expect(fake.requests).toHaveLength(7);
    for (const { headers } of fake.requests) expect(headers["vexel-priority"]).toBe("batch");
  });

  test("as Parquet has a text and a list of float32 in each row", async () => {
    const folder = newFolder();
    writeJsonl(folder, "docs.jsonl", rows);
    const args = ["--input", "docs.jsonl", "--output", "vectors.parquet"];
    expect((await embedWith(fake, folder, ...args)).code).toBe(0);
    const read = await readParquetFile(folder, "vectors.parquet");
    expect(read.map(({ id, embedding }) => ({ id, embedding }))).toEqual(expected(rows));
  });

  test("as .npy is a matrix of float32, with the ids beside it", async () => {
    const folder = newFolder();
    writeJsonl(folder, "docs.jsonl", rows);
    const args = ["--input", "docs.jsonl", "--output", "vectors.npy"];
    expect((await embedWith(fake, folder, ...args)).code).toBe(0);
    const { magic, header, numbers, isAligned } = readNpy(folder, "vectors.npy");
    expect(magic).toBe("\x93NUMPY\x01\x00");
    expect(isAligned).toBe(true);
    expect(header).toMatch(
      /^\{'descr': '<f4', 'fortran_order': False, 'shape': \(25, 8\), \} *\n$/,
    );
    expect([...numbers]).toEqual(rows.flatMap(({ text }) => vectorOf(text)));
    expect(readLines(folder, "vectors.npy.ids.jsonl")).toEqual(
      rows.map(({ id }) => JSON.stringify(id)),
    );
  });

  test("of an input without rows is a valid file without rows", async () => {
    for (const name of ["a.jsonl", "a.npy", "a.parquet"]) {
      const folder = newFolder();
      writeFileSync(join(folder, "docs.jsonl"), "");
      const args = ["--input", "docs.jsonl", "--output", name];
      expect((await embedWith(fake, folder, ...args)).code).toBe(0);
      expect(existsSync(join(folder, name))).toBe(true);
    }
  });

  test("that exists is not overwritten", async () => {
    const folder = newFolder();
    writeJsonl(folder, "docs.jsonl", rows);
    writeFileSync(join(folder, "vectors.jsonl"), "mine\n");
    const args = ["--input", "docs.jsonl", "--output", "vectors.jsonl"];
    const { code, err } = await embedWith(fake, folder, ...args);
    expect(code).toBe(2);
    expect(err).toContain("vectors.jsonl exists. Delete it, or name another file.");
    expect(readLines(folder, "vectors.jsonl")).toEqual(["mine"]);
  });
});

describe("the input", () => {
  const embedToRows = async (folder: string, ...args: string[]) => {
    const { code, err } = await embedWith(fake, folder, ...args, "--output", "vectors.jsonl");
    return { code, err, rows: asFloat32(readJsonLines(folder, "vectors.jsonl")) };
  };

  test("as CSV may have commas, quotes and line breaks in quoted fields", async () => {
    const folder = newFolder();
    const rows = [
      { id: "1", text: 'He said "yes", and left.\nThen\r\nsilence.' },
      { id: "2", text: "plain" },
      { id: "3", text: "after a line break" },
    ];
    const quoted = `"${rows[0]?.text.replaceAll('"', '""')}"`;
    writeFileSync(
      join(folder, "docs.csv"),
      `\uFEFFkey,body,other\r\n1,${quoted},\r\n2,plain,x\r\n\r\n3,"after a line break",y`,
    );
    const { code, rows: read } = await embedToRows(
      folder,
      ...["--input", "docs.csv", "--id-column", "key", "--text-column", "body"],
    );
    expect(read).toEqual(expected(rows));
    expect(code).toBe(0);
  });

  test("as Parquet may be compressed, and its ids may be 64-bit integers", async () => {
    const rows = texts(30).map(({ text }, at) => ({ id: at, text }));
    const codecs = {
      SNAPPY: undefined,
      GZIP: gzipSync,
      BROTLI: brotliCompressSync,
      ZSTD: Bun.zstdCompressSync,
    };
    for (const [name, compress] of Object.entries(codecs)) {
      const folder = newFolder();
      const codec = name as keyof typeof codecs;
      parquetWriteFile({
        filename: join(folder, "docs.parquet"),
        columnData: [
          { name: "id", data: rows.map(({ id }) => BigInt(id)), type: "INT64" },
          { name: "text", data: rows.map(({ text }) => text), type: "STRING" },
        ],
        codec,
        ...(compress && { compressors: { [codec]: (bytes: Uint8Array) => compress(bytes) } }),
        rowGroupSize: 7,
      });
      const { rows: read } = await embedToRows(folder, "--input", "docs.parquet");
      expect(read).toEqual(expected(rows));
    }
  });

  test("as a folder has a row for each text file, with its path as id", async () => {
    const folder = newFolder();
    mkdirSync(join(folder, "docs", "deep"), { recursive: true });
    mkdirSync(join(folder, "docs", ".git"));
    writeFileSync(join(folder, "docs", "b.md"), "second");
    writeFileSync(join(folder, "docs", "a.txt"), "first");
    writeFileSync(join(folder, "docs", "deep", "c.txt"), "third");
    writeFileSync(join(folder, "docs", ".git", "HEAD"), "not read");
    writeFileSync(join(folder, "docs", "image.png"), new Uint8Array([137, 80, 78, 71, 0, 255]));
    const { rows, code } = await embedToRows(folder, "--input", "docs");
    expect(rows).toEqual(
      expected([
        { id: "a.txt", text: "first" },
        { id: "b.md", text: "second" },
        { id: "deep/c.txt", text: "third" },
      ]),
    );
    expect(code).toBe(3);
    expect(readJsonLines(folder, "vectors.jsonl.errors.jsonl")).toEqual([
      { id: "image.png", error: "The file is not a text." },
    ] as never);
  });

  test("without ids has the number of the row as id", async () => {
    const folder = newFolder();
    writeJsonl(folder, "docs.jsonl", [{ text: "a" }, { text: "b" }]);
    const { rows } = await embedToRows(folder, "--input", "docs.jsonl");
    expect(rows.map(({ id }) => id)).toEqual([1, 2]);
  });

  test("is limited to rows since a time, an id or a number", async () => {
    const rows = [
      { id: 9, text: "a", changed: "2026-11-01T10:00:00Z" },
      { id: 10, text: "b", changed: "2026-11-02T12:00:00+02:00" },
      { id: 11, text: "c", changed: "2026-11-03" },
      { id: 12, text: "d" },
    ];
    const cases: [string[], number[]][] = [
      [
        ["--since", "2026-11-02T09:59:59Z", "--since-column", "changed"],
        [10, 11],
      ],
      [["--since", "2026-11-02T10:00:00Z", "--since-column", "changed"], [11]],
      [
        ["--since", "9"],
        [10, 11, 12],
      ],
      [
        ["--since", "9", "--limit", "2"],
        [10, 11],
      ],
    ];
    for (const [args, ids] of cases) {
      const folder = newFolder();
      writeJsonl(folder, "docs.jsonl", rows);
      const { rows: read } = await embedToRows(folder, "--input", "docs.jsonl", ...args);
      expect(read.map(({ id }) => id)).toEqual(ids);
      expect(read[0]?.embedding).toHaveLength(dimensions);
    }
  });
});

test("the estimate before the start has rows, tokens and the list price", async () => {
  const folder = newFolder();
  writeJsonl(folder, "docs.jsonl", texts(50));
  const args = ["--input", "docs.jsonl", "--output", "vectors.jsonl"];
  const { err } = await embedWith(fake, folder, ...args);
  expect(err).toMatch(/docs\.jsonl: 50 rows, about \d+ tokens, \$0\.00\d+ by list price\./);
});

test("invalid arguments are named, and nothing is sent", async () => {
  const folder = newFolder();
  writeJsonl(folder, "docs.jsonl", texts(1));
  const input = ["--input", "docs.jsonl"];
  const cases: [string[], string][] = [
    [input, "--output is required."],
    [[...input, "--output", "v.csv"], "--output must be a .parquet, .jsonl or .npy file"],
    [["--input", "none.csv", "--output", "v.npy"], "none.csv does not exist."],
    [[...input, "--output", "v.npy", "--batch-size", "0"], "--batch-size must be a whole number"],
    [[...input, "--output", "v.npy", "--since-column", "a"], "--since-column needs --since."],
    [[...input, "--output", "v.npy", "--base-url", "ftp://a"], "--base-url must be an http"],
  ];
  for (const [args, message] of cases) {
    const { code, err } = await embedWith(fake, folder, ...args);
    expect(err).toContain(message);
    expect(code).toBe(2);
  }
  expect(fake.requests).toHaveLength(0);
});
