/** The retry schedule of webhooks, with a fake clock: delays, bounds, and clock jumps. */
import { afterEach, describe, expect, test } from "bun:test";
import { signWebhook } from "../../server/events/attempt-delivery.ts";
import { createDeliveryStore } from "../../server/storage/sql/delivery-store.ts";
import { createEventStore } from "../../server/storage/sql/event-store.ts";
import { closeSimulations, hour, minute, second, startSimulation } from "./webhooks-fake-clock.ts";
import { secret } from "./webhooks-fixture.ts";

afterEach(closeSimulations);

const gaps = (times: readonly { at: number }[]): number[] =>
  times.slice(1).map(({ at }, i) => at - (times[i]?.at ?? 0));

const down = () => ({ status: 500 });

describe("a failed delivery", () => {
  test("is retried after 5 s, 30 s, 2 min, 10 min and 1 h, and then abandoned", async () => {
    const simulation = startSimulation({ respond: down });
    simulation.emit();
    await simulation.pass(3 * hour);
    expect(gaps(simulation.attempts)).toEqual([
      5 * second,
      30 * second,
      2 * minute,
      10 * minute,
      60 * minute,
    ]);
    expect(simulation.states()).toEqual(["abandoned"]);
    expect(simulation.reported.map(({ kind }) => kind)).toEqual(["failing", "abandoned"]);
  });

  test("is logged once until a delivery succeeds, also if a test of the webhook failed before", async () => {
    const simulation = startSimulation({
      respond: (count) => ({ status: count === 4 ? 200 : 500 }),
    });
    const { deliver, events, webhook } = simulation;
    await deliver.attempt(webhook, events.testEvent(webhook));
    expect(simulation.reported).toEqual([]);
    simulation.emit();
    await simulation.pass(3 * minute);
    expect(simulation.states()).toEqual(["delivered"]);
    simulation.emit();
    await simulation.pass(minute);
    expect(simulation.reported.map(({ kind }) => kind)).toEqual(["failing", "failing"]);
  });

  test("is retried with a jitter of up to a fifth of the delay", async () => {
    const simulation = startSimulation({ respond: down, random: () => 0.999999 });
    simulation.emit();
    await simulation.pass(3 * hour);
    const [first = 0, ...others] = gaps(simulation.attempts);
    expect(first).toBeGreaterThan(5.9 * second);
    expect(first).toBeLessThanOrEqual(6 * second);
    expect(others.at(-1)).toBeLessThanOrEqual(1.2 * hour);
  });

  test("is retried not before the receiver's retry-after, and at most an hour later", async () => {
    const simulation = startSimulation({
      respond: (count) => ({ status: 503, retryAfterMs: count === 1 ? 20 * second : 24 * hour }),
    });
    simulation.emit();
    await simulation.pass(2 * hour);
    expect(gaps(simulation.attempts).slice(0, 2)).toEqual([20 * second, hour]);
  });

  test("is not lost when the clock is set back or ahead", async () => {
    const simulation = startSimulation({ respond: (count) => ({ status: count < 3 ? 500 : 200 }) });
    simulation.emit();
    await simulation.pass(0);
    simulation.jump(-365 * 24 * hour);
    await simulation.pass(6 * second);
    simulation.jump(365 * 24 * hour);
    await simulation.pass(2 * hour);
    expect(simulation.attempts).toHaveLength(3);
    expect(simulation.states()).toEqual(["delivered"]);
  });

  test("is kept while another owner has ten thousand events", async () => {
    const simulation = startSimulation({
      respond: (count) => ({ status: count === 1 ? 500 : 200 }),
    });
    const { db, events, now } = simulation;
    simulation.emit();
    await simulation.pass(0);
    expect(simulation.attempts).toHaveLength(1);
    const store = createEventStore(db);
    for (let at = 0; at < 10_100; at++) {
      const id = `evt_job_${at}`;
      await store.record(
        { id, owner: "project:busy", type: "batch.completed", at: now(), data: {} },
        [],
      );
    }
    while (await store.prune(now())) {}
    await events.flush();
    await simulation.pass(minute);
    expect(simulation.attempts).toHaveLength(2);
    expect(simulation.states()).toEqual(["delivered"]);
  });

  test("waits in a bounded queue: the oldest are abandoned first, with a log line", async () => {
    const simulation = startSimulation({ respond: down, maxWaiting: 10 });
    for (let i = 0; i < 25; i++) simulation.emit();
    await simulation.events.flush();
    const states = simulation.states();
    expect(states.slice(0, 15)).toEqual(Array(15).fill("abandoned"));
    expect(states.slice(15)).toEqual(Array(10).fill("waiting"));
    expect(simulation.reported.filter(({ kind }) => kind === "queue-full")).toHaveLength(15);
  });
});

describe("when the event file cannot be written", () => {
  test("an event is sent, recorded later, and not sent twice", async () => {
    const simulation = startSimulation({ respond: () => ({ status: 200 }) });
    simulation.breakDisk(true);
    expect(() => simulation.emit()).not.toThrow();
    await simulation.pass(0);
    expect(simulation.attempts).toHaveLength(1);
    expect(simulation.reported.map(({ kind }) => kind)).toEqual(["not-recorded"]);
    simulation.breakDisk(false);
    simulation.emit();
    await simulation.pass(hour);
    expect(simulation.attempts.map(({ id }) => id)).toEqual(["evt_000001", "evt_000002"]);
    const ids = simulation.file
      .query<{ id: string }, []>("SELECT id FROM events ORDER BY seq")
      .all();
    expect(ids.map(({ id }) => id)).toEqual(["evt_000001", "evt_000002"]);
  });

  test("a bounded number of events is buffered, and lost events are reported", async () => {
    const simulation = startSimulation({ respond: () => ({ status: 500 }) });
    simulation.breakDisk(true);
    for (let i = 0; i < 130; i++) simulation.emit();
    await simulation.events.flush();
    expect(simulation.reported.filter(({ kind }) => kind === "lost")).toHaveLength(30);
    simulation.breakDisk(false);
    simulation.emit();
    await simulation.events.flush();
    expect(simulation.states()).toHaveLength(101);
  });

  test("an event that was sent while the disk filled up is not sent repeatedly", async () => {
    const simulation = startSimulation({
      respond: () => {
        simulation.breakDisk(true);
        return { status: 200 };
      },
    });
    simulation.emit();
    await simulation.pass(hour);
    expect(simulation.attempts).toHaveLength(1);
    expect(simulation.reported.filter(({ kind }) => kind === "stalled")).toHaveLength(1);
    simulation.breakDisk(false);
    await simulation.pass(hour);
    expect(simulation.attempts).toHaveLength(1);
    expect(simulation.states()).toEqual(["delivered"]);
  });
});

test("a webhook that responded with 410 gets events again after a configuration reload", async () => {
  const simulation = startSimulation({ respond: (count) => ({ status: count === 1 ? 410 : 200 }) });
  simulation.emit();
  await simulation.pass(hour);
  simulation.emit();
  await simulation.pass(hour);
  expect(simulation.attempts).toHaveLength(1);
  simulation.webhooks.set(simulation.webhook.id, { ...simulation.webhook });
  simulation.emit();
  await simulation.pass(hour);
  expect(simulation.attempts.map(({ id }) => id)).toEqual(["evt_000001", "evt_000003"]);
});

test("events are sent one at a time, also while the configuration is reloaded", async () => {
  const first = Promise.withResolvers<{ status: number }>();
  const simulation = startSimulation({
    respond: (count) => (count === 1 ? first.promise : { status: 200 }),
  });
  const reload = () => simulation.webhooks.set(simulation.webhook.id, { ...simulation.webhook });
  for (let i = 0; i < 3; i++) {
    reload();
    simulation.emit();
    await simulation.pass(second);
  }
  expect(simulation.attempts).toHaveLength(1);
  first.resolve({ status: 200 });
  await simulation.pass(second);
  const sent = simulation.attempts.map(({ id }) => id);
  expect(sent).toEqual(["evt_000001", "evt_000002", "evt_000003"]);
});

test("the receiver's retry-after holds, also after a configuration reload", async () => {
  const simulation = startSimulation({
    respond: (count) =>
      count === 1 ? { status: 429, retryAfterMs: 10 * minute } : { status: 200 },
  });
  simulation.emit();
  await simulation.pass(second);
  simulation.webhooks.set(simulation.webhook.id, { ...simulation.webhook });
  simulation.emit();
  await simulation.pass(5 * minute);
  expect(simulation.attempts).toHaveLength(1);
  await simulation.pass(6 * minute);
  expect(simulation.states()).toEqual(["delivered", "delivered"]);
});

test("a new secret applies from the next attempt on, also to pending deliveries", async () => {
  const simulation = startSimulation({
    respond: (count) => {
      const changed = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
      if (count === 1)
        simulation.webhooks.set(simulation.webhook.id, { ...simulation.webhook, secret: changed });
      return { status: 200 };
    },
  });
  for (let i = 0; i < 3; i++) simulation.emit();
  const timestamp = simulation.now() / 1000;
  await simulation.pass(minute);
  const bodyOf = (id: string): string => {
    const time = new Date(timestamp * 1000).toISOString();
    return JSON.stringify({ id, type: "config.reloaded", timestamp: time, data: { changes: "x" } });
  };
  const signedWith = ({ id, signature }: { id: string; signature: string }): string[] =>
    [secret, simulation.webhooks.get(simulation.webhook.id)?.secret ?? ""].filter(
      (each) => signWebhook({ id, timestamp, body: bodyOf(id) }, each) === signature,
    );
  const [first, ...others] = simulation.attempts.map((attempt) => signedWith(attempt)[0]);
  expect(first).toBe(secret);
  expect(others).toEqual(Array(2).fill(simulation.webhooks.get(simulation.webhook.id)!.secret));
});

test("deliveries in flight at shutdown are due at once at the next start", async () => {
  const simulation = startSimulation({ respond: () => new Promise(() => {}) });
  simulation.emit();
  await simulation.pass(second);
  expect(simulation.attempts).toHaveLength(1);
  const queue = createDeliveryStore(simulation.db);
  expect(await queue.nextDue("hook")).toBeGreaterThan(simulation.now());
  await simulation.deliver.close();
  expect(await queue.nextDue("hook")).toBeLessThanOrEqual(simulation.now());
});

test("a mail to a slow server is not sent by another replica meanwhile", async () => {
  const { promise: accepted, resolve: accept } = Promise.withResolvers<{ status: number }>();
  const simulation = startSimulation({ respond: () => accepted, url: "mailto:ops@example.com" });
  const replica = createDeliveryStore(simulation.db);
  simulation.emit();
  await simulation.pass(0);
  expect(simulation.attempts).toHaveLength(1);
  // Ten seconds to connect, ten for the greeting, and ten of silence.
  await simulation.pass(30 * second);
  const now = simulation.now();
  expect(await replica.claim({ webhook: "hook", now, until: now + minute })).toBeUndefined();
  accept({ status: 250 });
  await simulation.pass(2 * hour);
  expect(simulation.attempts).toHaveLength(1);
  expect(simulation.states()).toEqual(["delivered"]);
});

test("long texts and lists in an event are truncated", async () => {
  const simulation = startSimulation({ respond: () => ({ status: 200 }) });
  const problems = Array.from({ length: 300 }, () => "x".repeat(5000));
  simulation.events.emit({ type: "config.rejected", data: { problems } });
  await simulation.events.flush();
  const row = simulation.file.query<{ data: string }, []>("SELECT data FROM events").get();
  expect(row?.data.length).toBeLessThan(21_000);
});
