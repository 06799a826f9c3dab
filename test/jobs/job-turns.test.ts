/** The slow lines of one API key do not keep jobs and batches of other keys waiting. */
import { afterAll, expect, test } from "bun:test";
import type OpenAI from "openai";
import { embeddingLine, endOfBatch, line, uploadLines } from "../batches/lines.ts";
import { type RecordedRequest, startFake } from "../fake-upstream.ts";
import { keyOf, startTwoProjects } from "../files/two-projects.ts";
import { endOf, jobClient } from "./jobs-fixture.ts";

const generations = "/v1/images/generations";
const fake = startFake();
// 32 slots are for image jobs.
const settings = { VEXEL_MAX_IMAGE_REQUESTS: "64" };
const { gateway, first, mate, other } = startTwoProjects({ settings }, fake.url);
const held = Promise.withResolvers<void>();
afterAll(async () => {
  held.resolve();
  await gateway.close();
  fake.close();
});

const slow = { model: "image-model", prompt: "a slow otter" };
const quick = { model: "image-model", prompt: "a quick otter" };

async function runBatch(client: OpenAI, endpoint: string, text: string) {
  const { id } = await client.batches.create({
    input_file_id: await uploadLines(client, text),
    endpoint: endpoint as "/v1/embeddings",
    completion_window: "24h",
  });
  return endOfBatch(client, id);
}

test("a batch of one line and an image job complete while another key has hundreds of slow images", async () => {
  const isSlow = ({ json }: RecordedRequest) => JSON.stringify(json ?? "").includes("slow");
  fake.script({ until: held.promise }, { times: 10_000, when: isSlow });
  const lines = Array.from({ length: 200 }, (_, at) => line(`${at}`, generations, slow)).join("");
  const slowBatch = await first.batches.create({
    input_file_id: await uploadLines(first, lines),
    endpoint: generations as "/v1/embeddings",
    completion_window: "24h",
  });
  const slowJobs = jobClient(gateway.url, keyOf("first"));
  for (let at = 0; at < 48; at++) await slowJobs.submit(slow);
  await fake.arrived(48);
  for (const [name, client] of [["other", other] as const, ["mate", mate] as const]) {
    const jobs = jobClient(gateway.url, keyOf(name));
    const job = await jobs.submit(quick);
    expect((await endOf(jobs, job.id)).status).toBe("completed");
    for (const [endpoint, text] of [
      ["/v1/embeddings", embeddingLine(name)],
      [generations, line(name, generations, quick)],
    ] as const) {
      expect(await runBatch(client, endpoint, text)).toMatchObject({
        status: "completed",
        request_counts: { completed: 1 },
      });
    }
  }
  // Also one of the same key does not wait behind its images.
  expect((await runBatch(first, "/v1/embeddings", embeddingLine("own"))).status).toBe("completed");
  expect(await first.batches.retrieve(slowBatch.id)).toMatchObject({
    status: "in_progress",
    request_counts: { completed: 0 },
  });
});
