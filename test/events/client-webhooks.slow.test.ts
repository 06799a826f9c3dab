/**
 * The webhook endpoints that clients manage through OpenAI's SDK: who sees them, which URLs they may have, and that the
 * SDK verifies their deliveries.
 */
import { afterAll, expect, test } from "bun:test";
import OpenAI, { BadRequestError, InvalidWebhookSignatureError, NotFoundError } from "openai";
import { refusalOf } from "../conformance/arrange.ts";
import { keyOf, startTwoProjects } from "../files/two-projects.ts";
import { until } from "../until.ts";
import { type Received, startReceiver } from "./webhooks-fixture.ts";

const { gateway, first, mate, other } = startTwoProjects({
  settings: { VEXEL_WEBHOOK_PRIVATE: "127.0.0.1" },
  webhookDelaysMs: [10, 10, 10],
});
afterAll(() => gateway.close());

const { events } = gateway;
const create = (client: OpenAI, url: string, types = ["batch.completed"] as const) =>
  client.webhooks.create({ name: "mine", url, event_types: [...types] });
const unwrap = (received: Received | undefined, secret: string) =>
  first.webhooks.unwrap(received?.body ?? "", received?.headers ?? {}, secret);

test("an endpoint is created, listed, changed and deleted, by its own project only", async () => {
  const { signing_secret, ...endpoint } = await create(first, "http://127.0.0.1:9/a");
  expect(signing_secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(endpoint).toMatchObject({
    object: "webhook_endpoint",
    name: "mine",
    url: "http://127.0.0.1:9/a",
    event_types: ["batch.completed"],
    signing_secret_hint: `whsec_...${signing_secret.slice(-5)}`,
  });
  expect(await mate.webhooks.retrieve(endpoint.id)).toEqual(endpoint);
  const second = await create(first, "http://127.0.0.1:9/b");
  const listed: string[] = [];
  for await (const { id } of first.webhooks.list({ limit: 1 })) listed.push(id);
  expect(listed).toEqual([second.id, endpoint.id]);
  expect((await other.webhooks.list()).data).toEqual([]);
  for (const attempt of [
    other.webhooks.retrieve(endpoint.id),
    other.webhooks.update(endpoint.id, { name: "theirs" }),
    other.webhooks.delete(endpoint.id),
    other.webhooks.rotateSecret(endpoint.id),
    other.webhooks.test(endpoint.id, { event_type: "batch.failed" }),
  ])
    await refusalOf(attempt, NotFoundError);
  const updated = await first.webhooks.update(endpoint.id, {
    name: "renamed",
    event_types: ["batch.failed", "batch.expired"],
  });
  expect(updated).toMatchObject({
    name: "renamed",
    event_types: ["batch.failed", "batch.expired"],
  });
  expect(await first.webhooks.delete(endpoint.id)).toEqual({
    id: endpoint.id,
    object: "webhook_endpoint.deleted",
    deleted: true,
  });
  await refusalOf(first.webhooks.retrieve(endpoint.id), NotFoundError);
  await first.webhooks.delete(second.id);
  expect((await first.webhooks.eventTypes.list()).data).toContain("image.job.completed");
  const azure = new OpenAI({
    baseURL: `${gateway.url}/openai/v1/dashboard`,
    apiKey: keyOf("first"),
  });
  expect((await azure.webhooks.list()).data).toEqual([]);
});

test.each([
  ["http://example.com/", "https"],
  ["https://10.0.0.1/", "public"],
  ["https://169.254.169.254/latest", "public"],
  ["https://localhost/", "public"],
  ["https://[::1]/", "public"],
  ["https://user:password@8.8.8.8/", "user name"],
  ["ftp://example.com/", "https"],
  ["nothing", "https"],
])("the URL %s is refused", async (url, reason) => {
  const error = await refusalOf(create(first, url), BadRequestError);
  expect(error.param).toBe("url");
  expect(error.message).toContain(reason);
});

test("the SDK verifies and reads the event of a job, and no other project gets it", async () => {
  const receiver = startReceiver();
  const stranger = startReceiver();
  const endpoint = await create(first, receiver.url);
  await create(other, stranger.url);
  await events.recordJobEvent({ type: "batch.completed", owner: "project:one", id: "batch_1" });
  await events.recordJobEvent({ type: "batch.failed", owner: "project:one", id: "batch_2" });
  // The same event once more: a process that died may have recorded it.
  await events.recordJobEvent({ type: "batch.completed", owner: "project:one", id: "batch_1" });
  await until(() => receiver.received.length > 0);
  const event = await unwrap(receiver.received[0], endpoint.signing_secret);
  expect(event).toEqual({
    id: expect.stringMatching(/^evt_/),
    object: "event",
    type: "batch.completed",
    created_at: expect.any(Number),
    data: { id: "batch_1" },
  });
  await expect(
    unwrap(receiver.received[0], `whsec_${Buffer.from("another").toString("base64")}`),
  ).rejects.toThrow(InvalidWebhookSignatureError);
  await events.recordJobEvent({ type: "batch.completed", owner: "project:two", id: "batch_3" });
  await until(() => stranger.received.length === 1);
  expect(receiver.received).toHaveLength(1);
  expect(stranger.received[0]?.data).toEqual({ id: "batch_3" });
  receiver.close();
  stranger.close();
});

test("a failed delivery is retried, and an event of a deleted endpoint is not delivered", async () => {
  const receiver = startReceiver((_, count) => new Response("", { status: count < 3 ? 500 : 200 }));
  const endpoint = await create(first, receiver.url);
  await events.recordJobEvent({
    type: "batch.completed",
    owner: "project:one",
    id: "batch_retried",
  });
  await until(() => receiver.received.length === 3);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
  await first.webhooks.delete(endpoint.id);
  await events.recordJobEvent({ type: "batch.completed", owner: "project:one", id: "batch_later" });
  await create(first, receiver.url);
  await events.recordJobEvent({ type: "batch.completed", owner: "project:one", id: "batch_last" });
  await until(() => receiver.received.length === 4);
  expect(receiver.received[3]?.data).toEqual({ id: "batch_last" });
  receiver.close();
});

test("after a rotation, the old secret verifies for 24 hours if asked for, and else no more", async () => {
  const receiver = startReceiver();
  const endpoint = await create(mate, receiver.url);
  const rotated = await mate.webhooks.rotateSecret(endpoint.id, {
    keep_old_secret_active_for_24_hours: true,
  });
  expect(rotated.signing_secret).not.toBe(endpoint.signing_secret);
  await events.recordJobEvent({
    type: "batch.completed",
    owner: "project:one",
    id: "batch_rotated",
  });
  await until(() => receiver.received.length === 1);
  for (const secret of [endpoint.signing_secret, rotated.signing_secret])
    expect((await unwrap(receiver.received[0], secret)).type).toBe("batch.completed");
  const again = await mate.webhooks.rotateSecret(endpoint.id);
  await events.recordJobEvent({ type: "batch.completed", owner: "project:one", id: "batch_again" });
  await until(() => receiver.received.length === 2);
  expect((await unwrap(receiver.received[1], again.signing_secret)).type).toBe("batch.completed");
  await expect(unwrap(receiver.received[1], rotated.signing_secret)).rejects.toThrow(
    InvalidWebhookSignatureError,
  );
  receiver.close();
});

test("a test sends a sample event and reports the status", async () => {
  const receiver = startReceiver(() => new Response("", { status: 418 }));
  const endpoint = await create(first, receiver.url);
  expect(await first.webhooks.test(endpoint.id, { event_type: "batch.expired" })).toEqual({
    object: "webhook_endpoint.test",
    webhook_endpoint_id: endpoint.id,
    event_type: "batch.expired",
    status_code: 418,
    success: true,
  });
  const event = await unwrap(receiver.received[0], endpoint.signing_secret);
  expect(event).toMatchObject({ type: "batch.expired", data: { id: "batch_test" } });
  receiver.close();
  const error = await refusalOf(
    first.webhooks.test(endpoint.id, { event_type: "batch.expired" }),
    BadRequestError,
  );
  expect(error.message).toContain("did not respond");
});

test("the signing secret is not stored in clear", async () => {
  const { signing_secret } = await create(other, "http://127.0.0.1:9/");
  const stored = await Bun.file(`${gateway.folder}/events.db-wal`).bytes();
  expect(Buffer.from(stored).includes(signing_secret)).toBe(false);
});
