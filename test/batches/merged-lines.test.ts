/** Consecutive embedding lines with equal parameters are sent as one request, and each line gets its own response. */
import { afterAll, beforeEach, expect, test } from "bun:test";
import { fakeVector, startFake } from "../fake-upstream.ts";
import { configFor, startGateway, testKey } from "../harness.ts";
import { endOfBatch, line, type ResultLine, resultLines, sdkOf, uploadLines } from "./lines.ts";

const fake = startFake();
const yaml = configFor(fake.url).replace(
  "keys:",
  `  - { id: contextual, kind: embedding, contextual: true, targets: [{ upstream: fake, model: text-embedding-3-small }] }
  - { id: unbatched, kind: embedding, batch: false, targets: [{ upstream: fake, model: text-embedding-3-small }] }
keys:`,
);
const gateway = startGateway({ yaml });
const client = sdkOf(gateway.baseURL, testKey);
beforeEach(() => fake.clear());
afterAll(async () => {
  await gateway.close();
  fake.close();
});

const run = async (lines: readonly Readonly<Record<string, unknown>>[]) => {
  const text = lines
    .map((body, at) =>
      line(`${at}`, "/v1/embeddings", { model: "embedding-model", dimensions: 8, ...body }),
    )
    .join("");
  const created = await client.batches.create({
    input_file_id: await uploadLines(client, text),
    endpoint: "/v1/embeddings",
    completion_window: "24h",
  });
  const batch = await endOfBatch(client, created.id);
  const read = async (id: string | null | undefined) => (id ? resultLines(client, id) : []);
  return {
    batch,
    output: await read(batch.output_file_id),
    errors: await read(batch.error_file_id),
  };
};

const inputsSent = (): number[] =>
  fake.requests.map(({ json }) => [(json as { input: unknown }).input].flat().length);

const floatsOf = (vector: Iterable<number>): number[] => Array.from(vector, Math.fround);

const embeddingsOf = ({ response }: ResultLine) =>
  ((response?.body.data ?? []) as { index: number; embedding: number[] }[]).map(
    ({ index, embedding }) => [index, floatsOf(embedding)],
  );

const tokensOf = ({ response }: ResultLine): number =>
  (response?.body.usage as { total_tokens: number } | undefined)?.total_tokens ?? 0;

test("each line gets the vectors of its own inputs, and its share of the usage", async () => {
  const texts = Array.from({ length: 300 }, (_, at) => `text ${at} ${"word ".repeat(at % 7)}`);
  const lines = texts.map((text, at) => ({ input: at % 3 === 0 ? [text, `second ${at}`] : text }));
  const { batch, output } = await run(lines);
  expect(batch.request_counts).toEqual({ total: 300, completed: 300, failed: 0 });
  expect(inputsSent().length).toBeLessThanOrEqual(6);
  expect(output.map(({ custom_id }) => custom_id)).toEqual(texts.map((_, at) => `${at}`));
  for (const [at, result] of output.entries()) {
    const inputs = [lines[at]?.input ?? ""].flat();
    const expected = inputs.map((text, index) => [index, floatsOf(fakeVector(text, 8))]);
    expect(embeddingsOf(result)).toEqual(expected);
  }
  const tokens = output.map(tokensOf);
  expect(Math.min(...tokens)).toBeGreaterThan(0);
  const rows = gateway.rows().filter(({ requestId }) => requestId.startsWith(batch.id));
  expect(rows.reduce((sum, { inputTokens }) => sum + (inputTokens ?? 0), 0)).toBe(
    tokens.reduce((sum, each) => sum + each, 0),
  );
  expect(new Set(output.map(({ response }) => response?.request_id))).toEqual(
    new Set(rows.map(({ requestId }) => requestId)),
  );
});

test("a line that the upstream refuses fails by itself", async () => {
  fake.script(
    { response: { status: 400, body: JSON.stringify({ error: { message: "no", code: "odd" } }) } },
    { when: ({ json }) => JSON.stringify(json).includes("refused"), times: 1000 },
  );
  const { batch, output, errors } = await run(
    Array.from({ length: 20 }, (_, at) => ({ input: at === 7 ? "refused" : `text ${at}` })),
  );
  expect(batch.request_counts).toEqual({ total: 20, completed: 19, failed: 1 });
  expect(output).toHaveLength(19);
  expect(errors).toMatchObject([{ custom_id: "7", response: { status_code: 400 } }]);
});

test("lines with other parameters are not merged with them", async () => {
  const { batch } = await run([
    ...Array.from({ length: 5 }, (_, at) => ({ input: `a ${at}` })),
    ...Array.from({ length: 5 }, (_, at) => ({ input: `b ${at}`, dimensions: 4 })),
    { input: ["c", "d"], encoding_format: "base64" },
  ]);
  expect(batch.request_counts?.completed).toBe(11);
  expect(inputsSent().toSorted()).toEqual([2, 5, 5]);
});

test.each([
  ["of a model whose vectors depend on the other inputs", { model: "contextual" }],
  ["of a model without micro-batching", { model: "unbatched" }],
  ["with extra fields", { late_chunking: true }],
])("lines %s are sent one by one", async (_, fields) => {
  const lines = Array.from({ length: 5 }, (_, at) => ({ input: `${at}`, ...fields }));
  const { batch } = await run(lines);
  expect(batch.request_counts?.total).toBe(5);
  expect(inputsSent()).toEqual([1, 1, 1, 1, 1]);
});
