/** When webhooks are tried again, with a clock that is turned by hand: the delays, the bounds, and a clock that jumps. */
import { afterEach, describe, expect, test } from "bun:test";
import { signWebhook } from "../../server/events/sign-webhook.ts";
import { Deliveries } from "../../server/storage/deliveries.ts";
import { secret } from "./webhooks-fixture.ts";
import { arrange, closeWorlds, hour, minute, second } from "./webhooks-world.ts";

afterEach(closeWorlds);

const gaps = (times: readonly { at: number }[]): number[] =>
  times.slice(1).map(({ at }, i) => at - (times[i]?.at ?? 0));

const down = () => ({ status: 500 });

describe("what is not taken", () => {
  test("is tried again after 5 s, 30 s, 2 min, 10 min and 1 h, and then given up", async () => {
    const world = arrange({ answer: down });
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
    expect(world.told.map(({ what }) => what)).toEqual(["failing", "abandoned"]);
  });

  test("is tried again a little later than that, by chance, and by a fifth at most", async () => {
    const world = arrange({ answer: down, random: () => 0.999999 });
    world.emit();
    await world.pass(3 * hour);
    const [first = 0, ...others] = gaps(world.attempts);
    expect(first).toBeGreaterThan(5.9 * second);
    expect(first).toBeLessThanOrEqual(6 * second);
    expect(others.at(-1)).toBeLessThanOrEqual(1.2 * hour);
  });

  test("is not tried before the receiver wants it, nor more than an hour later", async () => {
    const world = arrange({
      answer: (count) => ({ status: 503, retryAfterMs: count === 1 ? 20 * second : 24 * hour }),
    });
    world.emit();
    await world.pass(2 * hour);
    expect(gaps(world.attempts).slice(0, 2)).toEqual([20 * second, hour]);
  });

  test("is not waited for longer because the clock was set back, nor lost because it was set ahead", async () => {
    const world = arrange({ answer: (count) => ({ status: count < 3 ? 500 : 200 }) });
    world.emit();
    await world.pass(0);
    world.jump(-365 * 24 * hour);
    await world.pass(6 * second);
    expect(world.attempts).toHaveLength(2);
    world.jump(365 * 24 * hour);
    await world.pass(30 * second);
    expect(world.states()).toEqual(["delivered"]);
  });

  test("waits in a line of bounded length: the oldest go first, and that is told", async () => {
    const world = arrange({ answer: down, maxWaiting: 10 });
    for (let i = 0; i < 25; i++) world.emit();
    const states = world.states();
    expect(states.slice(0, 15)).toEqual(Array(15).fill("given_up"));
    expect(states.slice(15)).toEqual(Array(10).fill("waiting"));
    expect(world.told.filter(({ what }) => what === "queue-full")).toHaveLength(15);
  });
});

describe("when the file of events cannot be written", () => {
  test("an event is sent all the same, recorded later, and not sent twice", async () => {
    const world = arrange({ answer: () => ({ status: 200 }) });
    world.breakDisk(true);
    expect(() => world.emit()).not.toThrow();
    await world.pass(0);
    expect(world.attempts).toHaveLength(1);
    expect(world.told.map(({ what }) => what)).toEqual(["not-recorded"]);
    world.breakDisk(false);
    world.emit();
    await world.pass(hour);
    expect(world.attempts.map(({ id }) => id)).toEqual(["evt_000001", "evt_000002"]);
    const ids = world.db.query<{ id: string }, []>("SELECT id FROM events ORDER BY seq").all();
    expect(ids.map(({ id }) => id)).toEqual(["evt_000001", "evt_000002"]);
  });

  test("no more events are held than memory has room for, and the lost are told", async () => {
    const world = arrange({ answer: () => ({ status: 500 }) });
    world.breakDisk(true);
    for (let i = 0; i < 130; i++) world.emit();
    expect(world.told.filter(({ what }) => what === "lost")).toHaveLength(30);
    world.breakDisk(false);
    world.emit();
    expect(world.states()).toHaveLength(101);
  });

  test("an event that was sent while the disk filled up is not sent again and again", async () => {
    const world = arrange({
      answer: () => {
        world.breakDisk(true);
        return { status: 200 };
      },
    });
    world.emit();
    await world.pass(hour);
    expect(world.attempts).toHaveLength(1);
    expect(world.told.filter(({ what }) => what === "stalled")).toHaveLength(1);
    world.breakDisk(false);
    await world.pass(hour);
    expect(world.attempts).toHaveLength(1);
    expect(world.states()).toEqual(["delivered"]);
  });
});

test("a webhook that is gone is asked again once the configuration is loaded anew", async () => {
  const world = arrange({ answer: (count) => ({ status: count === 1 ? 410 : 200 }) });
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

test("a new secret counts from the next attempt on, also for what was waiting", async () => {
  const world = arrange({
    answer: (count) => {
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

test("what was in hand when the gateway stopped is due at once when it starts again", async () => {
  const world = arrange({ answer: () => new Promise(() => {}) });
  world.emit();
  await world.pass(second);
  expect(world.attempts).toHaveLength(1);
  const queue = new Deliveries(world.db);
  expect(queue.nextDue("hook")).toBeGreaterThan(world.now());
  world.deliver.close();
  expect(queue.nextDue("hook")).toBeLessThanOrEqual(world.now());
});

test("what happens once is recorded once, whoever tells of it", async () => {
  const world = arrange({ answer: () => ({ status: 200 }) });
  const told = { type: "key.revoked", data: { id: "key_1", name: "studio" } } as const;
  world.events.emit({ ...told, once: "key.revoked key_1" });
  world.events.emit({ ...told, once: "key.revoked key_1" });
  world.events.emit({ ...told, once: "key.revoked key_2" });
  await world.pass(minute);
  expect(world.attempts).toHaveLength(2);
});

test("long texts and long lists in an event are cut", () => {
  const world = arrange({ answer: () => ({ status: 200 }) });
  const problems = Array.from({ length: 300 }, () => "x".repeat(5000));
  world.events.emit({ type: "config.rejected", data: { problems } });
  const row = world.db.query<{ data: string }, []>("SELECT data FROM events").get();
  expect(row?.data.length).toBeLessThan(21_000);
});
