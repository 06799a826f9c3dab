/** Every job has an end that names its reason: cancel, deadline, spent budget and quota. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type Fake, startFake } from "../fake-upstream.ts";
import { configFor, startGateway, type TestGateway, testKey } from "../harness.ts";
import { endOf, type ImageJob, jobClient } from "./jobs-fixture.ts";

let upstream: Fake;
const gateways: TestGateway[] = [];
const otter = { model: "gpt-image-2", prompt: "an otter" };

beforeAll(() => {
  upstream = startFake();
});
afterAll(async () => {
  for (const gateway of gateways) await gateway.close();
  upstream.close();
});

function start(settings: Record<string, string> = {}, yaml = configFor(upstream.url)): TestGateway {
  const gateway = startGateway({ yaml, settings });
  gateways.push(gateway);
  return gateway;
}

const filesOf = ({ folder }: TestGateway, { id }: ImageJob): string[] =>
  readdirSync(join(folder, "files", "jobs", id));

describe("a job", () => {
  test("that is canceled while its image is generated ends as canceled, and may have been billed", async () => {
    const gateway = start();
    upstream.clear();
    upstream.script({ delayMs: 60_000 });
    const client = jobClient(gateway.url);
    const job = await client.submit(otter);
    await upstream.arrived(1);
    expect((await client.cancel(job.id)).status).toBe(200);
    expect(await endOf(client, job.id)).toMatchObject({
      status: "cancelled",
      error: { code: "job_cancelled", message: expect.stringContaining("billed") },
    });
    expect((await client.cancel(job.id)).status).toBe(200);
  });

  test("whose deadline is over fails with `job_expired`", async () => {
    const gateway = start({ VEXEL_IMAGE_JOB_TIMEOUT: "1" });
    upstream.clear();
    upstream.script({ delayMs: 120_000 });
    const client = jobClient(gateway.url);
    const job = await client.submit(otter);
    await upstream.arrived(1);
    expect(await endOf(client, job.id)).toMatchObject({
      status: "failed",
      error: { code: "job_expired" },
    });
  });

  test("deletes its request when it ends", async () => {
    const gateway = start();
    upstream.clear();
    const client = jobClient(gateway.url);
    const job = await client.submit(otter);
    await endOf(client, job.id);
    expect(filesOf(gateway, job)).toEqual([expect.stringMatching(/\.output$/)]);
  });

  test("that cannot be deleted yet is not deleted", async () => {
    const gateway = start();
    upstream.clear();
    upstream.script({ delayMs: 60_000 });
    const client = jobClient(gateway.url);
    const job = await client.submit(otter);
    const refused = await client.remove(job.id);
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({ error: { code: "job_not_ended" } });
    await client.cancel(job.id);
    await endOf(client, job.id);
    expect((await client.remove(job.id)).status).toBe(200);
  });

  test("beyond a budget is refused at submission, and one within it reserves it", async () => {
    const budgeted = configFor(upstream.url).replace(
      `key: ${testKey} }`,
      `key: ${testKey}, budget: { total: 0.3 } }`,
    );
    const gateway = start({}, budgeted);
    upstream.clear();
    upstream.script({ delayMs: 60_000 });
    const client = jobClient(gateway.url);
    const body = { ...otter, quality: "high", size: "1024x1024" };
    const job = await client.submit(body);
    const next = await gateway.post("/v1/images/generations", { ...body, async: true });
    expect(next.status).toBe(429);
    expect(await next.json()).toMatchObject({ error: { code: "insufficient_quota" } });
    await client.cancel(job.id);
    await endOf(client, job.id);
  });

  test("beyond the budget of its tag is refused when it is submitted", async () => {
    // An image of dall-e-3 costs four cents.
    const gateway = start(
      {},
      configFor(upstream.url, " limits: { concurrent: 1 },").replace(
        `key: ${testKey} }`,
        `key: ${testKey}, project: shop, budget: { day: 10 } }
projects:
  - { name: shop, perTag: { "team:*": { budget: { day: 0.08 } } } }`,
      ),
    );
    upstream.clear();
    const { promise: first, resolve: endFirst } = Promise.withResolvers<void>();
    upstream.script({ until: first });
    const client = jobClient(gateway.url);
    const body = { model: "dall-e-3", prompt: "an otter" };
    await client.submit(body);
    await upstream.arrived(1);
    const tagged: ImageJob[] = [];
    for (let at = 0; at < 5; at++) {
      const headers = { prefer: "respond-async", "vexel-tags": "team:art" };
      const response = await gateway.post("/v1/images/generations", body, headers);
      expect(response.status).toBe(at < 2 ? 202 : 429);
      const answer = (await response.json()) as ImageJob;
      if (at < 2) tagged.push(answer);
      else expect(answer).toMatchObject({ error: { code: "insufficient_quota" } });
    }
    endFirst();
    const ended = await Promise.all(tagged.map(({ id }) => endOf(client, id)));
    expect(ended.map(({ status }) => status)).toEqual(["completed", "completed"]);
    const sent = upstream.requests.filter(({ path }) => path.endsWith("/images/generations"));
    expect(sent).toHaveLength(3);
  });

  test("beyond the quota of its project is refused", async () => {
    // Half of it is enough for one of these prompts.
    const gateway = start({ VEXEL_JOBS_MAX_BYTES: "2048" });
    const long = { ...otter, prompt: "an otter ".repeat(90) };
    upstream.clear();
    upstream.script({ delayMs: 60_000 });
    const client = jobClient(gateway.url);
    const job = await client.submit(long);
    const refused = await gateway.post("/v1/images/generations", { ...long, async: true });
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: { code: "job_quota_exceeded" } });
    await client.cancel(job.id);
    await endOf(client, job.id);
    await client.submit(long);
  });
});
