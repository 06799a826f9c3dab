/** /v1/batches through the official SDK: every state, the files of results, counts, usage, and who sees a batch. */
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type OpenAI from "openai";
import { AzureOpenAI, BadRequestError, NotFoundError } from "openai";
import { base64Of, grayImage, refusalOf } from "../conformance/arrange.ts";
import { startFake } from "../fake-upstream.ts";
import { keyOf, startTwoProjects, textFile } from "../files/two-projects.ts";
import { until } from "../until.ts";
import { embeddingLine, endOfBatch, line, resultLines, untilStatus, uploadLines } from "./lines.ts";

const fake = startFake();
const { gateway, first, mate, other } = startTwoProjects({}, fake.url);
afterAll(async () => {
  await gateway.close();
  fake.close();
});

type Batch = OpenAI.Batch;
const create = (
  client: OpenAI,
  input_file_id: string,
  endpoint: Batch["endpoint"] = "/v1/embeddings",
) =>
  client.batches.create({
    input_file_id,
    endpoint: endpoint as "/v1/embeddings",
    completion_window: "24h",
  });

const run = async (client: OpenAI, text: string, endpoint?: Batch["endpoint"]): Promise<Batch> => {
  const { id } = await create(client, await uploadLines(client, text), endpoint);
  return endOfBatch(client, id);
};

test("a batch of embeddings is completed, with results, errors, counts and usage", async () => {
  const ids = Array.from({ length: 40 }, (_, at) => `request-${at}`);
  const file = await uploadLines(
    first,
    ids.map((id) => embeddingLine(id, [id, `${id} again`])).join(""),
  );
  const created = await first.batches.create({
    input_file_id: file,
    endpoint: "/v1/embeddings",
    completion_window: "24h",
    metadata: { purpose: "test" },
    output_expires_after: { anchor: "created_at", seconds: 3600 },
  });
  expect<unknown>(created).toEqual({
    id: expect.stringMatching(/^batch_[0-9a-f]{32}$/),
    object: "batch",
    endpoint: "/v1/embeddings",
    model: null,
    errors: null,
    input_file_id: file,
    completion_window: "24h",
    status: "validating",
    output_file_id: null,
    error_file_id: null,
    created_at: expect.any(Number),
    in_progress_at: null,
    expires_at: created.created_at + 86_400,
    finalizing_at: null,
    completed_at: null,
    failed_at: null,
    expired_at: null,
    cancelling_at: null,
    cancelled_at: null,
    request_counts: { total: 0, completed: 0, failed: 0 },
    usage: null,
    metadata: { purpose: "test" },
    vexel: { batch: null, estimated_cost: null, cost: null, waiting: null },
  });
  const batch = await untilStatus(first, created.id, "completed");
  expect(batch).toMatchObject({
    model: "embedding-model",
    error_file_id: null,
    request_counts: { total: 40, completed: 40, failed: 0 },
    in_progress_at: expect.any(Number),
    finalizing_at: expect.any(Number),
    completed_at: expect.any(Number),
  });
  const results = await resultLines(first, batch.output_file_id as string);
  expect(results.map(({ custom_id }) => custom_id).sort()).toEqual(ids.toSorted());
  const tokens = results.map(
    ({ response }) => (response?.body.usage as { total_tokens: number } | undefined)?.total_tokens,
  );
  expect(batch.usage?.total_tokens).toBe(tokens.reduce<number>((sum, each = 0) => sum + each, 0));
  expect(batch.usage?.input_tokens).toBeGreaterThan(0);
  const rows = new Set(gateway.rows().map(({ requestId }) => requestId));
  for (const { id, response, error } of results) {
    expect(id).toMatch(/^batch_req_/);
    expect(error).toBeNull();
    expect(response?.status_code).toBe(200);
    expect(rows.has(response?.request_id as string)).toBe(true);
    expect(response?.body.data).toHaveLength(2);
  }
  const output = await first.files.retrieve(batch.output_file_id as string);
  expect(output).toMatchObject({
    purpose: "batch_output",
    filename: `${batch.id}_output.jsonl`,
    expires_at: output.created_at + 3600,
  });
});

test("a request that fails is in the error file, and an output file without lines does not exist", async () => {
  fake.clear();
  fake.script({
    response: { status: 400, body: JSON.stringify({ error: { message: "no", code: "odd" } }) },
  });
  const batch = await run(first, embeddingLine("fails", "refused"));
  expect(batch).toMatchObject({
    status: "completed",
    output_file_id: null,
    request_counts: { total: 1, completed: 0, failed: 1 },
  });
  const [result] = await resultLines(first, batch.error_file_id as string);
  expect(result).toMatchObject({
    custom_id: "fails",
    response: { status_code: 400, body: { error: { message: expect.any(String) } } },
    error: null,
  });
});

test("an invalid file fails before anything runs, and the errors name line, code and parameter", async () => {
  const before = fake.requests.length;
  const batch = await run(
    first,
    embeddingLine("a") +
      line("b", "/v1/embeddings", { model: "embedding-model" }) +
      line("c", "/v1/embeddings", { model: "no-such-model", input: "x" }) +
      line("d", "/v1/embeddings", { model: "gpt-image-2", input: "x" }) +
      embeddingLine("a", "again"),
  );
  expect(batch).toMatchObject({
    status: "failed",
    failed_at: expect.any(Number),
    in_progress_at: null,
    output_file_id: null,
    error_file_id: null,
    request_counts: { total: 0, completed: 0, failed: 0 },
  });
  expect(batch.errors?.data).toEqual([
    {
      code: "invalid_request",
      message: expect.any(String),
      param: "body.input",
      line: 2,
    },
    { code: "model_not_found", message: expect.any(String), param: "body.model", line: 3 },
    { code: expect.any(String), message: expect.any(String), param: "body.model", line: 4 },
    { code: "duplicate_custom_id", message: expect.any(String), param: "custom_id", line: 5 },
  ]);
  const repeated = await run(first, embeddingLine("a") + embeddingLine("a", "again"));
  expect(repeated.errors?.data).toMatchObject([{ code: "duplicate_custom_id", line: 2 }]);
  expect((await run(first, "\n")).errors?.data).toMatchObject([{ code: "empty_file" }]);
  expect(fake.requests.length).toBe(before);
});

test("a line beyond the bounds of JSON bodies fails alone, with the error of such a request", async () => {
  const deep = "[".repeat(200) + "]".repeat(200);
  const text = `{"custom_id":"deep","method":"POST","url":"/v1/embeddings","body":{"model":"embedding-model","input":${deep}}}\n`;
  const batch = await run(first, `${text}${embeddingLine("good")}`);
  expect(batch).toMatchObject({
    status: "completed",
    request_counts: { total: 2, completed: 1, failed: 1 },
  });
  const message = expect.stringContaining("128 levels deep");
  expect(await resultLines(first, batch.error_file_id as string)).toMatchObject([
    { custom_id: "deep", response: { status_code: 400, body: { error: { message } } } },
  ]);
});

const invalidLines: readonly [string, object][] = [
  ["empty", { input: "" }],
  ["no inputs", { input: [] }],
  ["dimensions", { input: "a", dimensions: 0 }],
  ["encoding", { input: "a", encoding_format: "words" }],
  ["user", { input: "a", user: 4 }],
];
const invalidText = invalidLines
  .map(([id, body]) => line(id, "/v1/embeddings", { model: "embedding-model", ...body }))
  .join("");

test("a line with an invalid value fails alone with 400, and is not sent", async () => {
  fake.clear();
  const before = fake.requests.length;
  const batch = await run(first, embeddingLine("one") + invalidText + embeddingLine("two"));
  expect(batch).toMatchObject({
    status: "completed",
    errors: null,
    model: "embedding-model",
    request_counts: { total: 7, completed: 2, failed: 5 },
  });
  const results = await resultLines(first, batch.output_file_id as string);
  expect(results.map(({ custom_id }) => custom_id).sort()).toEqual(["one", "two"]);
  const errors = await resultLines(first, batch.error_file_id as string);
  expect(errors.map(({ custom_id }) => custom_id).sort()).toEqual(
    invalidLines.map(([id]) => id).toSorted(),
  );
  const rows = gateway.rows();
  for (const { response, error } of errors) {
    expect(error).toBeNull();
    expect(response).toMatchObject({
      status_code: 400,
      body: { error: { type: "invalid_request_error", message: expect.stringMatching(/.{10}/) } },
    });
    const row = rows.find(({ requestId }) => requestId === response?.request_id);
    expect(row).toMatchObject({ status: 400, attempts: 0, estimatedCost: null });
  }
  const sent = fake.requests.slice(before).flatMap(({ json }) => [(json as Body).input].flat());
  expect(sent.sort()).toEqual(["one", "two"]);
});

interface Body {
  readonly input: string | readonly string[];
}

test("a batch whose lines are all invalid is completed, with an error file and no output file", async () => {
  const before = fake.requests.length;
  const batch = await run(first, invalidText);
  expect(batch).toMatchObject({
    status: "completed",
    output_file_id: null,
    model: null,
    request_counts: { total: 5, completed: 0, failed: 5 },
  });
  expect(await resultLines(first, batch.error_file_id as string)).toHaveLength(5);
  expect(fake.requests.length).toBe(before);
});

const imagesUrl = "/v1/images/generations";
const imageLines = (...ids: string[]): string =>
  ids.map((id) => line(id, imagesUrl, { model: "image-model", prompt: "an otter" })).join("");

/** A batch of image lines, which run one after the other: the first one is at the upstream. */
async function startImages() {
  fake.clear();
  const held = Promise.withResolvers<void>();
  fake.script({ until: held.promise }, { times: 1000 });
  const text = imageLines("sent", "waits", "waits too");
  const { id } = await create(
    first,
    await uploadLines(first, text),
    imagesUrl as Batch["endpoint"],
  );
  await fake.arrived(1);
  return { id, finish: held.resolve };
}

/** The image that was being generated is in the output file, and the other lines have this code. */
async function expectOneImage(batch: Batch, code: string): Promise<void> {
  expect(batch.request_counts).toEqual({ total: 3, completed: 1, failed: 2 });
  const [output, errors] = await Promise.all([
    resultLines(first, batch.output_file_id as string),
    resultLines(first, batch.error_file_id as string),
  ]);
  expect(output).toMatchObject([
    { custom_id: "sent", response: { status_code: 200, body: { data: [{}] } }, error: null },
  ]);
  const message = expect.stringContaining("before");
  expect(errors).toMatchObject([
    { custom_id: "waits", response: null, error: { code, message } },
    { custom_id: "waits too", response: null, error: { code, message } },
  ]);
  expect(fake.requests).toHaveLength(1);
}

test("a canceled batch finishes the image that is generated, and the other lines get batch_cancelled", async () => {
  const { id, finish } = await startImages();
  const cancelling = await first.batches.cancel(id);
  expect(cancelling).toMatchObject({ status: "cancelling", cancelling_at: expect.any(Number) });
  await Bun.sleep(50);
  expect((await first.batches.retrieve(id)).status).toBe("cancelling");
  finish();
  const cancelled = await untilStatus(first, id, "cancelled");
  expect(cancelled).toMatchObject({ cancelled_at: expect.any(Number), completed_at: null });
  await expectOneImage(cancelled, "batch_cancelled");
  const error = await refusalOf(first.batches.cancel(id), BadRequestError);
  expect(error.code).toBe("invalid_state");
  fake.clear();
});

test("a canceled batch keeps the result of an embedding in flight", async () => {
  fake.clear();
  const held = Promise.withResolvers<void>();
  fake.script({ until: held.promise }, { times: 1000 });
  const { id } = await create(first, await uploadLines(first, embeddingLine("in flight")));
  await fake.arrived(1);
  expect((await first.batches.cancel(id)).status).toBe("cancelling");
  held.resolve();
  const cancelled = await untilStatus(first, id, "cancelled");
  expect(cancelled.request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
  expect(await resultLines(first, cancelled.output_file_id as string)).toMatchObject([
    { custom_id: "in flight", response: { status_code: 200 } },
  ]);
  fake.clear();
});

test("an expired batch finishes the image that is generated, and the other lines get batch_expired", async () => {
  const { id, finish } = await startImages();
  using db = new Database(join(gateway.folder, "jobs.db"));
  db.run("PRAGMA busy_timeout = 5000");
  db.run("UPDATE jobs SET deadline = ?2 WHERE id = ?1", [id, Date.now()]);
  const ending = () => db.query<{ ending: string }, string>("SELECT ending FROM jobs WHERE id = ?");
  await until(() => ending().get(id)?.ending === "expired");
  finish();
  const expired = await untilStatus(first, id, "expired");
  expect(expired.expired_at).toEqual(expect.any(Number));
  await expectOneImage(expired, "batch_expired");
  fake.clear();
});

test("images are generated and edited", async () => {
  fake.clear();
  const generated = await run(
    first,
    line("boat", "/v1/images/generations", { model: "gpt-image-2", prompt: "a boat" }) +
      line("otter", "/v1/images/generations", { model: "gpt-image-2", prompt: "an otter", n: 2 }),
    "/v1/images/generations" as Batch["endpoint"],
  );
  expect(generated.request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
  const results = await resultLines(first, generated.output_file_id as string);
  const images = new Map(
    results.map(({ custom_id, response }) => [custom_id, response?.body.data]),
  );
  expect(images.get("boat")).toHaveLength(1);
  expect(images.get("otter")).toHaveLength(2);
  expect(generated.usage?.output_tokens).toBeGreaterThan(0);
  const image_url = `data:image/png;base64,${base64Of(grayImage("an otter"))}`;
  const edited = await run(
    first,
    line("hat", "/v1/images/edits", {
      model: "gpt-image-2",
      prompt: "a hat",
      images: [{ image_url }],
    }),
    "/v1/images/edits" as Batch["endpoint"],
  );
  expect(edited.request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
});

test("batches are listed newest first, and another project sees none of them", async () => {
  const made = [await run(mate, embeddingLine("1")), await run(mate, embeddingLine("2"))];
  const [newest, earlier] = (await first.batches.list({ limit: 2 })).data;
  expect([earlier?.id, newest?.id]).toEqual(made.map(({ id }) => id));
  const listed: string[] = [];
  for await (const { id } of first.batches.list({ limit: 3 })) listed.push(id);
  expect(new Set(listed).size).toBe(listed.length);
  expect(listed).toEqual(listed.toSorted().reverse());
  expect((await other.batches.list()).data).toEqual([]);
  const [batch] = made;
  await refusalOf(other.batches.retrieve(batch?.id ?? ""), NotFoundError);
  await refusalOf(other.batches.cancel(batch?.id ?? ""), NotFoundError);
  await refusalOf(other.files.content(batch?.output_file_id ?? ""), NotFoundError);
  await refusalOf(create(other, batch?.input_file_id ?? ""), NotFoundError);
});

test("a batch with an invalid parameter is refused", async () => {
  const file = await uploadLines(first, embeddingLine("a"));
  const wrong = await first.files.create({ file: await textFile("a"), purpose: "user_data" });
  const post = (body: object) =>
    first.batches.create({
      input_file_id: file,
      endpoint: "/v1/embeddings",
      completion_window: "24h",
      ...body,
    });
  const refused: readonly [object, string][] = [
    [{ endpoint: "/v1/chat/completions" }, "endpoint"],
    [{ completion_window: "1h" }, "completion_window"],
    [{ input_file_id: wrong.id }, "input_file_id"],
    [{ metadata: { long: "x".repeat(513) } }, "metadata"],
    [
      { output_expires_after: { anchor: "created_at", seconds: 1 } },
      "output_expires_after.seconds",
    ],
  ];
  for (const [body, param] of refused) {
    expect((await refusalOf(post(body), BadRequestError)).param).toBe(param);
  }
  const missing = await refusalOf(post({ input_file_id: "file-none" }), NotFoundError);
  expect(missing.param).toBe("input_file_id");
});

test("Azure's paths and its urls without /v1 work", async () => {
  const azure = new AzureOpenAI({
    endpoint: gateway.url,
    apiKey: keyOf("first"),
    apiVersion: "2025-04-01-preview",
  });
  const file = await azure.files.create({
    file: await textFile(line("1", "/embeddings", { model: "embedding-model", input: "azure" })),
    purpose: "batch",
  });
  const { id } = await create(azure, file.id, "/embeddings" as Batch["endpoint"]);
  const batch = await untilStatus(azure, id, "completed", "failed");
  expect(batch.request_counts?.completed).toBe(1);
});

test("a batch whose input file is gone fails with the reason", async () => {
  const file = await uploadLines(first, embeddingLine("a"));
  rmSync(join(gateway.folder, "files", file));
  const { id } = await create(first, file);
  const failed = await untilStatus(first, id, "failed");
  expect(failed.errors?.data).toMatchObject([{ param: "input_file_id", line: null }]);
  expect(failed.errors?.data?.[0]?.message).toContain(file);
});
