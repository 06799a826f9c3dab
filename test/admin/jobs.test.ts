/** /admin/api/jobs: what the console shows of batches, and how it stops them. */
import { afterAll, expect, test } from "bun:test";
import type { JobDetail, JobEstimate, Page, ShownJob } from "../../contract/admin.ts";
import { jobLineOf } from "../../contract/job-line-id.ts";
import { startFake } from "../fake-upstream.ts";
import { until } from "../until.ts";
import { createBatch } from "./create-batch.ts";
import { startEntityGateway } from "./entities-fixture.ts";

const key = "sk-jobs-0123456789abcdef";
const fake = startFake();
const gateway = await startEntityGateway({
  yaml: `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }
models:
  - { id: embed, kind: embedding, price: { input: 1 }, targets: [{ upstream: fake, model: text-embedding-3-small }] }
projects:
  - { name: search }
keys:
  - { name: jobs-key, key: ${key}, project: search }
`,
});
afterAll(async () => {
  await gateway.close();
  fake.close();
});

const get = async (id: string) =>
  (await gateway.call(`GET /jobs/${id}`)).json as unknown as JobDetail;

const ended = async (id: string): Promise<JobDetail> => {
  await until(async () => (await get(id)).ended_at !== null);
  return get(id);
};

test("a batch is listed with its project, key, progress, rate and cost, and is downloaded", async () => {
  const id = await createBatch(gateway.baseURL, key, ["a red boat", "a green hill"]);
  const job = await ended(id);
  expect(job).toMatchObject({
    kind: "batch",
    status: "completed",
    project: "search",
    key_name: "jobs-key",
    model: "embed",
    lines: 2,
    completed: 2,
    failed: 0,
    remaining_ms: null,
    has_output: true,
    has_errors: false,
    input_errors: [],
  });
  expect(job.cost).toBeGreaterThan(0);
  expect(job.lines_per_second).toBeGreaterThan(0);
  const { data } = (await gateway.call("GET /jobs")).json as unknown as Page<ShownJob>;
  expect(data.map((each) => each.id)).toContain(id);
  const headers = { authorization: "Bearer admin-token-0123456789" };
  const output = await fetch(`${gateway.url}/admin/api/jobs/${id}/output`, { headers });
  expect(output.headers.get("content-disposition")).toContain(`${id}_output.jsonl`);
  expect((await output.text()).trim().split("\n")).toHaveLength(2);
  expect((await gateway.call(`GET /jobs/${id}/errors`)).status).toBe(404);
  const refused = await gateway.call(`POST /jobs/${id}/cancel`);
  expect(refused.json.error.code).toBe("invalid_state");
});

test("a job is paused, resumed and canceled, and the audit log has each change", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  fake.script({ until: released }, { times: 1 });
  const id = await createBatch(gateway.baseURL, key, ["one"]);
  await until(async () => (await get(id)).status === "in_progress");
  expect((await gateway.call(`POST /jobs/${id}/pause`)).json.status).toBe("paused");
  expect((await gateway.call(`POST /jobs/${id}/resume`)).json.status).toBe("in_progress");
  expect((await gateway.call(`POST /jobs/${id}/cancel`)).json.status).toBe("cancelling");
  // A line in flight is finished.
  release();
  expect((await ended(id)).status).toBe("cancelled");
  const { data } = (await gateway.call("GET /audit")).json;
  expect(data.filter(({ subject }) => subject === id).map(({ action }) => action)).toEqual([
    "job.cancelled",
    "job.resumed",
    "job.paused",
  ]);
});

test("a batch whose lines failed shows their most frequent errors with counts", async () => {
  fake.script({ fail: "billing" }, { times: 100 });
  try {
    const job = await ended(await createBatch(gateway.baseURL, key, ["fails", "fails too"]));
    expect(job).toMatchObject({ status: "completed", completed: 0, failed: 2, waiting: null });
    const counts = job.line_errors.map(({ code, count }) => [code, count]);
    expect(counts).toEqual([["billing_hard_limit_reached", 2]]);
    const query = `error=billing_hard_limit_reached&key=${job.key_id}&from=${job.created_at}`;
    // The ledger is written a little later.
    await until(async () => {
      const { data } = (await gateway.call(`GET /requests?${query}`)).json;
      return data.length >= 2;
    });
  } finally {
    fake.clear();
  }
});

test("a job that waits for its upstream shows the last error and the next attempt", async () => {
  fake.script({ fail: "rate-limit" }, { times: 1000 });
  try {
    const id = await createBatch(gateway.baseURL, key, ["waits"]);
    await until(async () => (await get(id)).waiting !== null);
    const { waiting, status } = await get(id);
    expect(status).toBe("in_progress");
    expect(waiting?.message).not.toBe("");
    expect(waiting?.next_attempt_at.slice(0, 4)).toMatch(/^20\d\d$/);
    const batch = await fetch(`${gateway.baseURL}/batches/${id}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(await batch.json()).toMatchObject({ vexel: { waiting: { code: waiting?.code } } });
    await gateway.call(`POST /jobs/${id}/cancel`);
    expect((await ended(id)).waiting).toBeNull();
  } finally {
    fake.clear();
  }
});

test("the requests of a line that is tried again have ids that name the job, the line and the attempt", async () => {
  fake.script({ fail: "rate-limit" }, { times: 1000 });
  try {
    const id = await createBatch(gateway.baseURL, key, ["is tried again"]);
    const lines = async () =>
      (await gateway.call("GET /requests?limit=200")).json.data
        .map((request) => jobLineOf(String(request.id)))
        .filter((line) => line?.job === id);
    await until(async () => (await lines()).length >= 2);
    expect((await lines()).slice(-2)).toEqual([
      { job: id, first: 0, last: 0, attempt: "1.2" },
      { job: id, first: 0, last: 0, attempt: undefined },
    ]);
    await gateway.call(`POST /jobs/${id}/cancel`);
    await ended(id);
  } finally {
    fake.clear();
  }
});

test("the errors of an invalid input file are shown with their line", async () => {
  const id = await createBatch(gateway.baseURL, key, ["a", "b"], "no-such-model");
  const job = await ended(id);
  expect(job.status).toBe("failed");
  expect(job.input_errors[0]?.line).toBe(1);
});

test("the lines and the price of a file are known before its job starts, and nothing is sent or kept", async () => {
  const { data: keys } = (await gateway.call("GET /keys")).json as unknown as Page<{ id: string }>;
  const start = async (path: string, texts: readonly unknown[]) => {
    const lines = texts.map((input, at) =>
      JSON.stringify({
        custom_id: `${at}`,
        method: "POST",
        url: "/v1/embeddings",
        body: { model: "embed", input },
      }),
    );
    const form = new FormData();
    form.set("purpose", "batch");
    form.set("file", new File([lines.join("\n")], "lines.jsonl"));
    const query = `endpoint=/v1/embeddings&key_id=${keys[0]?.id}`;
    const headers = { authorization: "Bearer admin-token-0123456789" };
    const url = `${gateway.url}/admin/api${path}${path.includes("?") ? "&" : "?"}${query}`;
    const response = await fetch(url, { method: "POST", headers, body: form });
    return (await response.json()) as unknown;
  };
  const files = async () => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${gateway.baseURL}/files`, { headers });
    return ((await response.json()) as { data: unknown[] }).data.length;
  };
  const before = await files();
  const sent = fake.requests.length;
  const estimate = (await start("/jobs/estimates", [
    "four words of text",
    "two words",
    "",
  ])) as JobEstimate;
  expect(estimate).toMatchObject({
    lines: 3,
    valid_lines: 2,
    input_errors: [],
    model: "embed",
    execution: "now",
    vendor_problem: null,
  });
  // 1 dollar for a million tokens, and half of it in a batch of OpenAI.
  const { now, vendor } = estimate.estimated_cost ?? {};
  expect(now).toBeGreaterThan(1e-6);
  expect(vendor).toBeCloseTo((now ?? 0) / 2, 12);
  expect(await start("/jobs/estimates", [])).toMatchObject({
    lines: 0,
    input_errors: [{ code: "empty_file" }],
  });
  expect(fake.requests).toHaveLength(sent);
  expect(await files()).toBe(before);

  const started = (await start("/jobs?execution=now&name=nightly", ["a text"])) as JobDetail;
  const job = await ended(started.id);
  expect(job).toMatchObject({ name: "nightly", execution: "now", status: "completed" });
  expect(await start("/jobs?execution=later", ["a text"])).toMatchObject({
    error: { param: "execution" },
  });
});
