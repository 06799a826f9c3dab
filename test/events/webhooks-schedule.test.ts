/** The retry schedule of webhooks, with a fake clock: delays, bounds, and clock jumps. */
import { afterEach, describe, expect, test } from "bun:test";
import { signWebhook } from "../../server/events/sign-webhook.ts";
import { Deliveries } from "../../server/storage/deliveries.ts";
import { arrange, closeWorlds, hour, minute, second } from "./webhooks-fake-clock.ts";
import { secret } from "./webhooks-fixture.ts";

afterEach(closeWorlds);

const gaps = (times: readonly { at: number }[]): number[] =>
  times.slice(1).map(({ at }, i) => at - (times[i]?.at ?? 0));

const down = () => ({ status: 500 });

describe("a failed delivery", () => {
  test("is retried after 5 s, 30 s, 2 min, 10 min and 1 h, and then abandoned", async () => {
    const world = arrange({ respond: down });
    world.emit();
    await world.pass(3 * hour);
    expect(gaps(world.attempts)).toEqual([
      5 * second,
      30 * second,
      2 * minute,
      10 * minute,
      60 * minute,
    ]);
    expect(world.states()).toEqual(["given_up"]);
    expect(world.reported.map(({ what }) => what)).toEqual(["failing", "abandoned"]);
  });

  test("is retried with a jitter of up to a fifth of the delay", async () => {
    const world = arrange({ respond: down, random: () => 0.999999 });
    world.emit();
    await world.pass(3 * hour);
    const [first = 0, ...others] = gaps(world.attempts);
    expect(first).toBeGreaterThan(5.9 * second);
    expect(first).toBeLessThanOrEqual(6 * second);
    expect(others.at(-1)).toBeLessThanOrEqual(1.2 * hour);
  });

  test("is retried not before the receiver's retry-after, and at most an hour later", async () => {
    const world = arrange({
      respond: (count) => ({ status: 503, retryAfterMs: count === 1 ? 20 * second : 24 * hour }),
    });
    world.emit();
    await world.pass(2 * hour);
    expect(gaps(world.attempts).slice(0, 2)).toEqual([20 * second, hour]);
  });

  test("is neither delayed when the clock is set back nor lost when it is set ahead", async () => {
    const world = arrange({ respond: (count) => ({ status: count < 3 ? 500 : 200 }) });
    world.emit();
    await world.pass(0);
    world.jump(-365 * 24 * hour);
    await world.pass(6 * second);
    expect(world.attempts).toHaveLength(2);
    world.jump(365 * 24 * hour);
    await world.pass(30 * second);
    expect(world.states()).toEqual(["delivered"]);
  });

  test("waits in a bounded queue: the oldest are abandoned first, with a log line", async () => {
    const world = arrange({ respond: down, maxWaiting: 10 });
    for (let i = 0; i < 25; i++) world.emit();
    const states = world.states();
    expect(states.slice(0, 15)).toEqual(Array(15).fill("given_up"));
    expect(states.slice(15)).toEqual(Array(10).fill("waiting"));
    expect(world.reported.filter(({ what }) => what === "queue-full")).toHaveLength(15);
  });
});

describe("when the event file cannot be written", () => {
  test("an event is sent, recorded later, and not sent twice", async () => {
    const world = arrange({ respond: () => ({ status: 200 }) });
    world.breakDisk(true);
    expect(() => world.emit()).not.toThrow();
    await world.pass(0);
    expect(world.attempts).toHaveLength(1);
    expect(world.reported.map(({ what }) => what)).toEqual(["not-recorded"]);
    world.breakDisk(false);
    world.emit();
    await world.pass(hour);
    expect(world.attempts.map(({ id }) => id)).toEqual(["evt_000001", "evt_000002"]);
    const ids = world.db.query<{ id: string }, []>("SELECT id FROM events ORDER BY seq").all();
    expect(ids.map(({ id }) => id)).toEqual(["evt_000001", "evt_000002"]);
  });

  test("a bounded number of events is buffered, and lost events are reported", async () => {
    const world = arrange({ respond: () => ({ status: 500 }) });
    world.breakDisk(true);
    for (let i = 0; i < 130; i++) world.emit();
    expect(world.reported.filter(({ what }) => what === "lost")).toHaveLength(30);
    world.breakDisk(false);
    world.emit();
    expect(world.states()).toHaveLength(101);
  });

  test("an event that was sent while the disk filled up is not sent repeatedly", async () => {
    const world = arrange({
      respond: () => {
        world.breakDisk(true);
        return { status: 200 };
      },
    });
    world.emit();
    await world.pass(hour);
    expect(world.attempts).toHaveLength(1);
    expect(world.reported.filter(({ what }) => what === "stalled")).toHaveLength(1);
    world.breakDisk(false);
    await world.pass(hour);
    expect(world.attempts).toHaveLength(1);
    expect(world.states()).toEqual(["delivered"]);
  });
});

test("a webhook that responded with 410 gets events again after a configuration reload", async () => {
  const world = arrange({ respond: (count) => ({ status: count === 1 ? 410 : 200 }) });
  world.emit();
  await world.pass(hour);
  world.emit();
  await world.pass(hour);
  expect(world.attempts).toHaveLength(1);
  world.webhooks.set(world.hook.id, { ...world.hook });
  world.emit();
  await world.pass(hour);
  expect(world.attempts.map(({ id }) => id)).toEqual(["evt_000001", "evt_000003"]);
});

test("a new secret applies from the next attempt on, also to pending deliveries", async () => {
  const world = arrange({
    respond: (count) => {
      const changed = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
      if (count === 1) world.webhooks.set(world.hook.id, { ...world.hook, secret: changed });
      return { status: 200 };
    },
  });
  for (let i = 0; i < 3; i++) world.emit();
  const timestamp = world.now() / 1000;
  await world.pass(minute);
  const bodyOf = (id: string): string => {
    const time = new Date(timestamp * 1000).toISOString();
    return JSON.stringify({ id, type: "config.reloaded", timestamp: time, data: { what: "x" } });
  };
  const signedWith = ({ id, signature }: { id: string; signature: string }): string[] =>
    [secret, world.webhooks.get(world.hook.id)!.secret].filter(
      (each) => signWebhook({ id, timestamp, body: bodyOf(id) }, each) === signature,
    );
  const [first, ...others] = world.attempts.map((attempt) => signedWith(attempt)[0]);
  expect(first).toBe(secret);
  expect(others).toEqual(Array(2).fill(world.webhooks.get(world.hook.id)!.secret));
});

test("deliveries in flight at shutdown are due at once at the next start", async () => {
  const world = arrange({ respond: () => new Promise(() => {}) });
  world.emit();
  await world.pass(second);
  expect(world.attempts).toHaveLength(1);
  const queue = new Deliveries(world.db);
  expect(queue.nextDue("hook")).toBeGreaterThan(world.now());
  world.deliver.close();
  expect(queue.nextDue("hook")).toBeLessThanOrEqual(world.now());
});

test("an event with a deduplication key is recorded once", async () => {
  const world = arrange({ respond: () => ({ status: 200 }) });
  const event = { type: "key.revoked", data: { id: "key_1", name: "studio" } } as const;
  world.events.emit({ ...event, once: "key.revoked key_1" });
  world.events.emit({ ...event, once: "key.revoked key_1" });
  world.events.emit({ ...event, once: "key.revoked key_2" });
  await world.pass(minute);
  expect(world.attempts).toHaveLength(2);
});

test("long texts and lists in an event are truncated", () => {
  const world = arrange({ respond: () => ({ status: 200 }) });
  const problems = Array.from({ length: 300 }, () => "x".repeat(5000));
  world.events.emit({ type: "config.rejected", data: { problems } });
  const row = world.db.query<{ data: string }, []>("SELECT data FROM events").get();
  expect(row?.data.length).toBeLessThan(21_000);
});
