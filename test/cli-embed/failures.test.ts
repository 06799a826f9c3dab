/** `vexel embed` with servers that limit, fail and refuse, and a second run that continues. */
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type RecordedRequest, startFake } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import { vexel } from "../process/process-fixture.ts";
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

const files = ["--input", "docs.jsonl", "--output", "vectors.jsonl"];
const embed = (...args: string[]) => embedWith(fake, folder.path, ...files, ...args);
const inputOf = ({ json }: RecordedRequest): string[] =>
  (json as { input: string[] } | undefined)?.input ?? [];
const hasText =
  (text: string) =>
  (request: RecordedRequest): boolean =>
    inputOf(request).includes(text);
const outputIds = (): (string | number)[] =>
  readJsonLines(folder.path, "vectors.jsonl").map(({ id }) => id);

test("a server that limits and fails is asked again, after the wait that it names", async () => {
  const rows = texts(40);
  writeJsonl(folder.path, "docs.jsonl", rows);
  fake.script({ fail: "rate-limit", retryAfterMs: 5 }, { times: 3 });
  fake.script({ reset: "before-headers" }, { times: 1 });
  fake.script({ vectors: "missing" }, { times: 1 });
  fake.script({ vectors: "shuffled" }, { times: 2 });
  const { code } = await embed("--batch-size", "5", "--concurrency", "3");
  expect(code).toBe(0);
  const read = readJsonLines(folder.path, "vectors.jsonl");
  expect(read.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
  expect(read.map(({ embedding }) => [...new Float32Array(embedding)])).toEqual(
    rows.map(({ text }) => vectorOf(text)),
  );
});

test("texts that the server refuses are in the error file, the others have vectors, and the exit code is 3", async () => {
  const rows = texts(20);
  writeJsonl(folder.path, "docs.jsonl", [...rows, { id: "empty", text: " " }, { id: "none" }]);
  const refused = {
    response: { status: 400, body: JSON.stringify({ error: { message: "too long" } }) },
  };
  for (const at of [3, 12])
    fake.script(refused, { times: 1000, when: hasText(rows[at]?.text ?? "") });
  const { code, err } = await embed();
  expect(code).toBe(3);
  expect(err).toContain("vectors.jsonl.errors.jsonl: 4 rows failed.");
  expect(outputIds()).toEqual(rows.filter((_, at) => at !== 3 && at !== 12).map(({ id }) => id));
  expect(readJsonLines<object>(folder.path, "vectors.jsonl.errors.jsonl")).toEqual([
    { ...rows[3], error: "400: too long" },
    { ...rows[12], error: "400: too long" },
    { id: "empty", text: " ", error: "The text is empty." },
    { id: "none", error: 'The row has no text in the column "text".' },
  ]);
});

test("the error file is the input of a run that embeds the failed rows", async () => {
  const rows = texts(3);
  writeJsonl(folder.path, "docs.jsonl", rows);
  fake.script(
    { response: { status: 413, body: "" } },
    { times: 2, when: hasText("text number 1") },
  );
  // The batch of three, then the half of two, are refused; the single text is refused by the third script.
  fake.script(
    { response: { status: 413, body: "" } },
    { times: 1, when: hasText("text number 1") },
  );
  expect((await embed()).code).toBe(3);
  const again = ["--input", "vectors.jsonl.errors.jsonl", "--output", "more.jsonl"];
  expect((await embedWith(fake, folder.path, ...again)).code).toBe(0);
  expect(readJsonLines(folder.path, "more.jsonl").map(({ id }) => id)).toEqual(["doc-1"]);
});

test("a server that stops serving ends the run, and the next run goes on where it stopped", async () => {
  const rows = texts(30);
  writeJsonl(folder.path, "docs.jsonl", rows);
  fake.script({ fail: "quota" }, { times: 1000, when: hasText("text number 20") });
  const first = await embed("--batch-size", "5", "--concurrency", "1");
  expect(first.code).toBe(1);
  expect(first.err).toContain("Give the same command again to continue.");
  expect(existsSync(join(folder.path, "vectors.jsonl"))).toBe(false);
  // What a crash may leave behind the last checkpoint.
  appendFileSync(join(folder.path, "vectors.jsonl.unfinished"), "half a record");
  appendFileSync(join(folder.path, "vectors.jsonl.errors.jsonl"), '{"id":');
  fake.clear();
  const second = await embed("--batch-size", "7");
  expect(second.err).toContain("Continues after 20 rows.");
  expect(second.code).toBe(0);
  expect(outputIds()).toEqual(rows.map(({ id }) => id));
  // Each once: a request that the first run had begun may arrive after it has ended.
  expect([...new Set(fake.requests.flatMap(inputOf))].sort()).toEqual(
    rows
      .slice(20)
      .map(({ text }) => text)
      .sort(),
  );
  expect(readdirSync(folder.path).sort()).toEqual(["docs.jsonl", "vectors.jsonl"]);
});

test("an unfinished run is not continued with another model or a changed input", async () => {
  const rows = texts(10);
  writeJsonl(folder.path, "docs.jsonl", rows);
  fake.script({ fail: "quota" }, { times: 1000, when: hasText("text number 5") });
  await embed("--batch-size", "5", "--concurrency", "1");
  fake.clear();
  const other = await vexel(["embed", "--model", "text-embedding-3-large", ...files], {
    cwd: folder.path,
  });
  expect(other.code).toBe(2);
  expect(other.err).toContain("another --model (text-embedding-3-small)");
  writeJsonl(folder.path, "docs.jsonl", rows.slice(1));
  const changed = await embed();
  expect(changed.code).toBe(2);
  expect(changed.err).toContain("the id of row 5 was doc-4 and is doc-5");
  expect(fake.requests).toHaveLength(0);
});

test("an invalid API key and an unknown model end the run at the first answer", async () => {
  writeJsonl(folder.path, "docs.jsonl", texts(300));
  const wrongKey = await vexel(["embed", "--model", "text-embedding-3-small", ...files], {
    cwd: folder.path,
    env: { OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "sk-wrong" },
  });
  expect(wrongKey.code).toBe(1);
  expect(wrongKey.err).toContain("401: ");
  expect(wrongKey.err).toContain(`OPENAI_API_KEY must be an API key of ${fake.url}`);
  expect(wrongKey.err).not.toContain("same command");
  fake.clear();
  const body = JSON.stringify({ error: { message: "No such model.", code: "model_not_found" } });
  fake.script({ response: { status: 404, body } }, { times: 1000 });
  const wrongModel = await embed("--batch-size", "1", "--concurrency", "4");
  expect(wrongModel.code).toBe(1);
  expect(wrongModel.err).toContain("404: No such model.");
  expect(wrongModel.err).toContain("Check --model (text-embedding-3-small), and --base-url");
  expect(wrongModel.err).not.toContain("same command");
  // Those that were sent before the first answer, of 300.
  expect(fake.requests.length).toBeLessThanOrEqual(4);
  // So that a corrected command starts anew.
  expect(readdirSync(folder.path)).toEqual(["docs.jsonl"]);
});

test("an address without a server ends the run after three attempts, and names the settings of the address", async () => {
  writeJsonl(folder.path, "docs.jsonl", texts(3));
  const listener = Bun.serve({ port: 0, fetch: () => new Response() });
  const port = listener.port;
  await listener.stop(true);
  const { code, err } = await vexel(["embed", "--model", "m", ...files, "--yes"], {
    cwd: folder.path,
    env: { PORT: `${port}` },
  });
  expect(code).toBe(1);
  expect(err).toMatch(
    /\/v1\/embeddings: The connection was refused \(ECONNREFUSED\)\. Retry 1 of 2 in 0\.\d s\.$/m,
  );
  expect(err).toContain(
    `Is the server running at http://127.0.0.1:${port}/v1? The address is --base-url, or else OPENAI_BASE_URL, or else the gateway on this machine at PORT.`,
  );
  expect(err).not.toContain("same command");
  expect(readdirSync(folder.path)).toEqual(["docs.jsonl"]);
});

test("an input without its option is refused with the name of the option", async () => {
  const { code, err } = await vexel(["embed", "docs.jsonl", "--model", "m"], { cwd: folder.path });
  expect(code).toBe(2);
  expect(err).toContain('unexpected argument "docs.jsonl": the input is --input FILE.');
});

test("a retry is reported with its reason, its number and its wait", async () => {
  writeJsonl(folder.path, "docs.jsonl", texts(3));
  fake.script({ fail: "rate-limit", retryAfterMs: 5 }, { times: 2 });
  const { code, err } = await embed();
  expect(code).toBe(0);
  expect(err).toMatch(/^429: .* Retry 1 of 8 in 0\.0 s\.$/m);
});

test("when the first 100 texts are all refused, the run ends and leaves no files", async () => {
  writeJsonl(folder.path, "docs.jsonl", texts(300));
  fake.script({ response: { status: 400, body: "no" } }, { times: 10_000 });
  const { code, err } = await embed("--batch-size", "10", "--concurrency", "1");
  expect(code).toBe(2);
  expect(err).toContain("none of the first 100 texts was embedded. The last error: 400: no.");
  expect(readdirSync(folder.path)).toEqual(["docs.jsonl"]);
});

test("a server that refuses base64 sends numbers", async () => {
  const rows = texts(4);
  writeJsonl(folder.path, "docs.jsonl", rows);
  const body = JSON.stringify({ error: { message: "Unsupported.", param: "encoding_format" } });
  fake.script(
    { response: { status: 400, body } },
    {
      times: 100,
      when: ({ json }) =>
        (json as { encoding_format?: string } | undefined)?.encoding_format === "base64",
    },
  );
  expect((await embed("--batch-size", "2", "--concurrency", "1")).code).toBe(0);
  expect(outputIds()).toEqual(rows.map(({ id }) => id));
  // A request that an earlier run has sent may still arrive: only this run asks for numbers.
  const encodings = fake.requests.map(
    ({ json }) => (json as { encoding_format?: string } | undefined)?.encoding_format,
  );
  expect(encodings.filter((encoding) => encoding !== "base64")).toHaveLength(2);
});

test("the checkpoint has no API key", async () => {
  writeJsonl(folder.path, "docs.jsonl", texts(4));
  fake.script({ fail: "quota" }, { times: 100, when: hasText("text number 2") });
  await embed("--batch-size", "2", "--concurrency", "1");
  const text = readFileSync(join(folder.path, "vectors.jsonl.checkpoint"), "utf8");
  expect(text).not.toContain("sk-fake");
});
