/** A batch or an image job that names a webhook endpoint in its metadata. */
import { afterAll, expect, test } from "bun:test";
import { BadRequestError } from "openai";
import { embeddingLine, uploadLines } from "../batches/lines.ts";
import { refusalOf } from "../conformance/arrange.ts";
import { startReceiver } from "../events/webhooks-fixture.ts";
import { startFake } from "../fake-upstream.ts";
import { startTwoProjects } from "../files/two-projects.ts";
import { until } from "../until.ts";

const fake = startFake();
const { gateway, first, other } = startTwoProjects(
  { settings: { VEXEL_WEBHOOK_PRIVATE: "127.0.0.1" } },
  fake.url,
);
const named = startReceiver();
const subscribed = startReceiver();
afterAll(async () => {
  named.close();
  subscribed.close();
  await gateway.close();
  fake.close();
});

const [endpoint] = await Promise.all([
  // It subscribes to neither of the events below.
  first.webhooks.create({ name: "mine", url: named.url, event_types: ["batch.failed"] }),
  first.webhooks.create({
    name: "all",
    url: subscribed.url,
    event_types: ["batch.completed", "image.job.completed" as "batch.completed"],
  }),
]);

const createBatch = async (client: typeof first, metadata: Record<string, string>) =>
  client.batches.create({
    input_file_id: await uploadLines(client, embeddingLine("1")),
    endpoint: "/v1/embeddings",
    completion_window: "24h",
    metadata,
  });

const createImageJob = (client: typeof first, webhook: string) =>
  client.post<{ id: string }>("/images/generations", {
    body: {
      model: "gpt-image-2",
      prompt: "an otter",
      async: true,
      metadata: { "vexel.webhook": webhook },
    },
  });

test("the event of a job goes to the endpoint that its metadata names, by name or id, and to no other", async () => {
  const batch = await createBatch(first, { "vexel.webhook": "mine" });
  expect(batch.metadata).toEqual({ "vexel.webhook": "mine" });
  const job = await createImageJob(first, endpoint.id);
  await until(() => named.received.length === 2);
  expect(named.received.map(({ data }) => data)).toContainEqual({ id: batch.id });
  expect(named.received.map(({ data }) => data)).toContainEqual({ id: job.id });
  const unnamed = await createBatch(first, {});
  await until(() => subscribed.received.length > 0);
  expect(subscribed.received.map(({ data }) => data)).toEqual([{ id: unnamed.id }]);
});

test("a job that names an unknown endpoint, or that of another project, is not created", async () => {
  for (const attempt of [
    () => createBatch(first, { "vexel.webhook": "nobody" }),
    () => createBatch(other, { "vexel.webhook": endpoint.id }),
    () => createImageJob(first, "nobody"),
  ]) {
    const error = await refusalOf(attempt(), BadRequestError);
    expect(error.param).toBe("metadata.vexel.webhook");
    expect(error.message).toContain("no such webhook endpoint");
  }
  expect((await other.batches.list()).data).toEqual([]);
});
