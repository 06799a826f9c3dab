/**
 * What ends a batch in the middle: a deleted input file, a revoked API key, a spent budget, a deleted model. Each line
 * has a result, and the batch or its lines name the reason.
 */
import { afterEach, expect, test } from "bun:test";
import type OpenAI from "openai";
import { type Fake, startFake } from "../fake-upstream.ts";
import { configFor, startGateway, type TestGateway } from "../harness.ts";
import { embeddingLine, endOfBatch, resultLines, sdkOf, uploadLines } from "./lines.ts";

const keys = { first: "sk-first-0123456789abcdef", mate: "sk-mate-0123456789abcdef" };
/** More than the ranges that a process runs at the same time. */
const lineCount = 10_000;

let stop: (() => Promise<void>) | undefined;
afterEach(async () => {
  await stop?.();
  stop = undefined;
});

const yamlOf = (upstream: string, budget = ""): string => `${configFor(upstream)}
  - { name: first, key: ${keys.first}, project: one${budget} }
  - { name: mate, key: ${keys.mate}, project: one }
projects:
  - { name: one }
`;

interface RunningBatch {
  readonly fake: Fake;
  readonly gateway: TestGateway;
  readonly mate: OpenAI;
  readonly fileId: string;
  /** Waits for the end of the batch, and reads its results. */
  end(): ReturnType<typeof readEnd>;
}

/** A batch whose first lines are at the upstream. They get their responses in `end`. */
async function startBatch(lines: number, budget?: string): Promise<RunningBatch> {
  const fake = startFake();
  const held = Promise.withResolvers<void>();
  fake.script({ until: held.promise }, { times: 4 });
  const gateway = startGateway({ yaml: yamlOf(fake.url, budget) });
  stop = async () => {
    held.resolve();
    await gateway.close();
    fake.close();
  };
  const first = sdkOf(gateway.baseURL, keys.first);
  const mate = sdkOf(gateway.baseURL, keys.mate);
  const text = Array.from({ length: lines }, (_, at) => embeddingLine(`${at}`)).join("");
  const fileId = await uploadLines(first, text);
  const { id } = await first.batches.create({
    input_file_id: fileId,
    endpoint: "/v1/embeddings",
    completion_window: "24h",
  });
  await fake.arrived(1);
  const end = () => {
    held.resolve();
    return readEnd(mate, id);
  };
  return { fake, gateway, mate, fileId, end };
}

async function readEnd(client: OpenAI, id: string) {
  const batch = await endOfBatch(client, id);
  const read = async (file: string | null | undefined) => (file ? resultLines(client, file) : []);
  const output = await read(batch.output_file_id);
  const errors = await read(batch.error_file_id);
  return { batch, output, errors };
}

/** Each line is in one of the files, once. */
function expectEveryLine(
  { batch, output, errors }: Awaited<ReturnType<typeof readEnd>>,
  lines: number,
): void {
  expect(batch.request_counts).toEqual({
    total: lines,
    completed: output.length,
    failed: errors.length,
  });
  const ids = [...output, ...errors].map(({ custom_id }) => Number(custom_id));
  expect(new Set(ids).size).toBe(lines);
}

test("a batch whose input file is deleted fails with that reason, and keeps its results", async () => {
  const running = await startBatch(lineCount);
  await running.mate.files.delete(running.fileId);
  const { batch, output } = await running.end();
  expect(batch).toMatchObject({
    status: "failed",
    errors: { data: [{ code: "job_input_missing", param: "input_file_id" }] },
  });
  expect(batch.errors?.data?.[0]?.message).toContain(running.fileId);
  // The lines that were not read any more have no result, and failed.
  expect(batch.request_counts).toEqual({
    total: lineCount,
    completed: output.length,
    failed: lineCount - output.length,
  });
  expect(output.length).toBeGreaterThan(0);
});

test("the lines of a revoked API key end with invalid_api_key, and the results before it stay", async () => {
  const running = await startBatch(lineCount);
  const { gateway, fake } = running;
  gateway.reload(yamlOf(fake.url).replace(/.*name: first,.*\n/, ""));
  const end = await running.end();
  expect(end.batch.status).toBe("completed");
  expectEveryLine(end, lineCount);
  expect(end.output.length).toBeGreaterThan(0);
  expect(new Set(end.errors.map(({ error }) => error?.code))).toEqual(new Set(["invalid_api_key"]));
});

test("the lines of a deleted model end with model_not_found, and the results before it stay", async () => {
  const running = await startBatch(3000);
  const { gateway, fake } = running;
  gateway.reload(yamlOf(fake.url).replace(/.*id: embedding-model,.*\n/, ""));
  const end = await running.end();
  expect(end.batch.status).toBe("completed");
  expectEveryLine(end, 3000);
  expect(end.output.length).toBeGreaterThan(0);
  expect(end.errors[0]).toMatchObject({
    response: { status_code: 404, body: { error: { code: "model_not_found" } } },
  });
});

test("lines beyond a budget end with insufficient_quota, which names it, also if it resets", async () => {
  // Each line has one token, at 0.13 dollars per million.
  const running = await startBatch(400, ", budget: { day: 0.000024 }");
  const end = await running.end();
  expect(end.batch.status).toBe("completed");
  expectEveryLine(end, 400);
  expect(end.output.length).toBeGreaterThan(40);
  expect(end.output.length).toBeLessThan(360);
  const [error] = end.errors;
  expect(error).toMatchObject({
    response: { status_code: 429, body: { error: { code: "insufficient_quota" } } },
  });
  expect(JSON.stringify(error?.response?.body)).toContain("daily budget of the key");
});
