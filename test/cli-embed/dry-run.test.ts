/** `vexel embed --dry-run`, and the estimate of the cost. */
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import { vexel } from "../process/process-fixture.ts";
import { embedWith, texts, writeJsonl } from "./embed-fixture.ts";

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

test("--dry-run shows columns, first text and estimate, and sends and writes nothing", async () => {
  const rows = [
    { key: "k1", body: "A first\u001b[2J text.\n", url: "http://a", id: "x" },
    { key: "k2", body: " ", url: "http://b", id: "y" },
    { key: "k3", body: "A third text.", url: "http://c", id: "z" },
  ];
  writeJsonl(folder.path, "docs.jsonl", rows);
  const args = ["--input", "docs.jsonl", "--output", "vectors.parquet", "--dry-run"];
  const names = ["--id-column", "key", "--text-column", "body"];
  const { code, out } = await embedWith(fake, folder.path, ...args, ...names);
  expect(out.split("\n")).toEqual([
    'Columns: "key", "body", "url", "id"',
    'Id: the column "key". Text: the column "body".',
    'First row: "k1": "A first [2J text."',
    "1 rows would fail, such as k2: The text is empty.",
    "The output has the columns id, url, embedding.",
    expect.stringMatching(/^docs\.jsonl: 3 rows, about \d+ tokens, \$0\.0000 by list price\./),
    "Nothing was sent.",
    "",
  ]);
  expect(code).toBe(0);
  expect(fake.requests).toHaveLength(0);
  expect(readdirSync(folder.path)).toEqual(["docs.jsonl"]);
});

test("--dry-run names a mistake as the run does", async () => {
  writeFileSync(join(folder.path, "docs.csv"), "id,body\n1,A.\n");
  const args = ["--input", "docs.csv", "--output", "vectors.parquet", "--dry-run"];
  const { code, out, err } = await embedWith(fake, folder.path, ...args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain('the input has no column "text". Its columns are "id", "body".');
});

test("--dry-run of an unfinished run says where it continues", async () => {
  writeJsonl(folder.path, "docs.jsonl", texts(10));
  const isLast = { when: ({ json }: { json?: unknown }) => /number 8"/.test(JSON.stringify(json)) };
  fake.script({ fail: "quota" }, { times: 100, ...isLast });
  const args = ["--input", "docs.jsonl", "--output", "vectors.jsonl"];
  const small = ["--batch-size", "4", "--concurrency", "1"];
  await embedWith(fake, folder.path, ...args, ...small);
  const before = readdirSync(folder.path);
  const { out } = await embedWith(fake, folder.path, ...args, "--dry-run");
  expect(out).toContain("Continues after 8 rows.");
  expect(readdirSync(folder.path)).toEqual(before);
});

test("the estimate has the price of the model in vexel.yaml", async () => {
  writeJsonl(folder.path, "docs.jsonl", texts(1000));
  writeFileSync(
    join(folder.path, "vexel.yaml"),
    `upstreams:
  - { id: a, kind: openai-compatible, baseUrl: "http://127.0.0.1:1/v1" }
models:
  - { id: priced, kind: embedding, price: { input: 1000 }, targets: [{ upstream: a, model: m }] }
  - { id: text-embedding-3-small, kind: embedding, targets: [{ upstream: a, model: m }] }
`,
  );
  const estimate = async (model: string, baseUrl: string): Promise<string> => {
    const args = ["--input", "docs.jsonl", "--output", "v.npy", "--dry-run", "--model", model];
    const { out, err } = await vexel(["embed", ...args, "--base-url", baseUrl], {
      cwd: folder.path,
    });
    expect(err).toBe("");
    return /tokens, (.+?)\. Model/.exec(out)?.[1] ?? "";
  };
  const here = "http://127.0.0.1:8080/v1";
  expect(await estimate("priced", here)).toMatch(/^\$[34]\.\d\d$/);
  // The model has no known price at this gateway, whatever its name is.
  expect(await estimate("text-embedding-3-small", here)).toBe("unknown cost; --price gives it");
  // Another server has another configuration.
  const other = "http://models.example/v1";
  expect(await estimate("text-embedding-3-small", other)).toMatch(/^\$0\.0001 by list price$/);
  expect(await estimate("priced", other)).toBe("unknown cost; --price gives it");
});

test("a configuration that is invalid does not keep a run from starting", async () => {
  writeJsonl(folder.path, "docs.jsonl", texts(2));
  writeFileSync(join(folder.path, "vexel.yaml"), "models: 7\n");
  const args = ["--input", "docs.jsonl", "--output", "vectors.jsonl"];
  const { code, err } = await embedWith(fake, folder.path, ...args);
  expect(err).toContain("by list price");
  expect(code).toBe(0);
});
