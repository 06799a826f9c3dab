/** Alert rules: when they fire and are resolved, with the sums of a ledger that the test writes. */
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import type { EventData } from "../../contract/events.ts";
import type { AlertRule } from "../../server/config/snapshot.ts";
import { createAlerts } from "../../server/events/alerts/evaluate-alerts.ts";
import type { RuleTarget } from "../../server/events/alerts/measure-rule.ts";
import type { UsageGroup, UsageQuery } from "../../server/storage/ports/ledger-queries.ts";
import { createAlertStore } from "../../server/storage/sql/alert-store.ts";
import { migrate } from "../../server/storage/sqlite/migrate.ts";
import { eventMigrations } from "../../server/storage/sqlite/migrations/events.ts";
import { SqliteDatabase } from "../../server/storage/sqlite/sqlite-database.ts";

const [minute, hour] = [60_000, 3_600_000];
/** Windows may or may not reach into the hour before. Repeat a failed run with its start: VEXEL_TEST_START=1767268800000 */
const start = Number(
  process.env.VEXEL_TEST_START ??
    Date.UTC(2026, 0, 1) + Math.floor(Math.random() * 24 * 60) * minute,
);
const hourOf = (at: number): number => at - (at % hour);
afterAll(() => console.log(`The tests of alerts started at VEXEL_TEST_START=${start}.`));

const rule = (more: Partial<AlertRule> = {}): AlertRule => ({
  name: "errors",
  metric: "error_rate",
  above: 5,
  minutes: 15,
  minRequests: 20,
  ...more,
});

interface Emitted {
  readonly type: string;
  readonly data: EventData["alert.firing"];
  readonly key: string | undefined;
}

/** A ledger with hourly sums, and processes that evaluate the rules over it. */
function createSimulation(...given: readonly AlertRule[]) {
  const file = new Database(":memory:", { strict: true });
  migrate(file, eventMigrations, 0);
  const store = createAlertStore(new SqliteDatabase(file));
  const hours = new Map<number, UsageGroup>();
  const asked: UsageQuery[] = [];
  const emitted: Emitted[] = [];
  const state = {
    at: start,
    rules: new Map(given.map((each) => [each.name, each])),
    isRecording: true,
  };
  const targets: RuleTarget[] = [];

  const add = (
    more: Partial<Record<"requests" | "errors" | "refused" | "cost" | "slow", number>>,
  ) => {
    const from = state.at - (state.at % hour);
    const { requests = 0, errors = 0, refused = 0, cost = 0, slow = 0 } = more;
    const before = hours.get(from);
    const histogram = before?.latencyHistogram ?? new Array<number>(13).fill(0);
    hours.set(from, {
      ...noSums,
      from,
      requests: (before?.requests ?? 0) + requests,
      errors: (before?.errors ?? 0) + errors,
      refused: (before?.refused ?? 0) + refused,
      cost: (before?.cost ?? 0) + cost,
      latencyHistogram: histogram.map((count, at) => {
        if (at === 2) return count + requests - slow;
        return at === 8 ? count + slow : count;
      }),
    });
  };
  const keys = new Set<string>();
  const createProcess = (owner: string) => {
    return createAlerts({
      store,
      rules: () => state.rules,
      owner,
      now: () => state.at,
      emit: ({ type, data, deduplicationKey = "" }) => {
        if (keys.has(deduplicationKey) || !state.isRecording) return;
        keys.add(deduplicationKey);
        emitted.push({ type, data: data as Emitted["data"], key: deduplicationKey });
      },
      flush: async () => state.isRecording,
      targets: async () => targets,
      queries: {
        usage: async (query) => {
          asked.push(query);
          const groups = [...hours.values()].filter(
            ({ from }) => from >= query.from - (query.from % hour) && from < query.to,
          );
          return { groups: groups.toReversed(), hasMore: false };
        },
      },
    });
  };
  let alerts = createProcess("a");
  const restart = () => {
    alerts = createProcess("a");
  };
  /** Evaluates the rules every minute, after `each` has added requests. */
  const pass = async (minutes: number, each: () => void = () => {}) => {
    for (let at = 0; at < minutes; at++) {
      state.at += minute;
      each();
      await alerts.evaluate();
    }
  };
  const types = () => emitted.map(({ type }) => type);
  return { state, add, pass, restart, createProcess, emitted, types, targets, asked, store };
}

const target = (more: Partial<RuleTarget> = {}): RuleTarget => ({
  upstream: "a",
  models: ["search"],
  state: "healthy",
  counts: { responses: 1, failed: 0 },
  ...more,
});

const noSums = {
  unmeteredRequests: 0,
  unpricedRequests: 0,
  inputTokens: 0,
  outputTokens: 0,
  images: 0,
  inputs: 0,
  cachedInputs: 0,
  estimatedCost: 0,
  latencyMs: 0,
};

test("refused requests are no errors of an alert, and no successes either", async () => {
  const { pass, add, emitted, types } = createSimulation(rule());
  await pass(20, () => add({ requests: 20, errors: 10, refused: 10 }));
  expect(types()).toEqual([]);
  await pass(5, () => add({ requests: 110, errors: 105, refused: 100 }));
  expect(types()).toEqual(["alert.firing"]);
  expect(emitted[0]?.data.value).toBeLessThanOrEqual(50);
});

test("an error rate above the bound fires once, and is resolved once when the window is clean", async () => {
  const { pass, add, emitted, types } = createSimulation(rule());
  await pass(20, () => add({ requests: 10 }));
  expect(types()).toEqual([]);
  await pass(5, () => add({ requests: 10, errors: 5 }));
  expect(types()).toEqual(["alert.firing"]);
  expect(emitted[0]?.data).toMatchObject({ name: "errors", metric: "error_rate", above: 5 });
  expect(emitted[0]?.data.value).toBeGreaterThan(5);
  await pass(10, () => add({ requests: 10 }));
  expect(types()).toEqual(["alert.firing"]);
  await pass(10, () => add({ requests: 10 }));
  expect(types()).toEqual(["alert.firing", "alert.resolved"]);
  expect(emitted[1]?.data.since).toBe(emitted[0]?.data.since ?? "");
  await pass(30, () => add({ requests: 10 }));
  expect(types()).toHaveLength(2);
});

test("the window is counted across the hour", async () => {
  const { state, pass, add, types } = createSimulation(rule());
  const nextHour = hourOf(start) + hour;
  state.at = nextHour - 10 * minute;
  await pass(5, () => add({ requests: 100 }));
  // The hour ends within the window of 15 minutes: 30 errors after it are few among the requests on both sides of it.
  await pass(7, () => add({ requests: 100, errors: state.at >= nextHour ? 10 : 0 }));
  expect(types()).toEqual([]);
  await pass(3, () => add({ requests: 100, errors: 50 }));
  expect(types()).toEqual(["alert.firing"]);
});

test("a few requests are not judged, and an alert whose requests stop is resolved", async () => {
  const { pass, add, types } = createSimulation(rule());
  await pass(10, () => add({ requests: 1, errors: 1 }));
  expect(types()).toEqual([]);
  await pass(5, () => add({ requests: 10, errors: 10 }));
  expect(types()).toEqual(["alert.firing"]);
  await pass(20);
  expect(types()).toEqual(["alert.firing", "alert.resolved"]);
});

test("errors from before the window do not fire an alert after a start of the process", async () => {
  const { pass, add, types, state } = createSimulation(rule());
  state.at = hourOf(start);
  add({ requests: 1000, errors: 1000 });
  state.at += (16 + Math.floor(Math.random() * 30)) * minute;
  await pass(10, () => add({ requests: 10 }));
  expect(types()).toEqual([]);
});

test("the spend of a day is known after a restart of the process", async () => {
  const spend = rule({ name: "spend", metric: "spend", above: 100, minutes: 1440 });
  const { pass, add, types, state } = createSimulation(spend);
  add({ requests: 1, cost: 90 });
  state.at += 3 * hour;
  await pass(2, () => add({ requests: 1, cost: 3 }));
  expect(types()).toEqual([]);
  await pass(3, () => add({ requests: 1, cost: 3 }));
  expect(types()).toEqual(["alert.firing"]);
});

test("a slow 95th percentile fires", async () => {
  const latency = rule({ name: "slow", metric: "latency_p95", above: 2000 });
  const { pass, add, emitted, types } = createSimulation(latency);
  await pass(5, () => add({ requests: 100, slow: 1 }));
  expect(types()).toEqual([]);
  await pass(5, () => add({ requests: 100, slow: 50 }));
  expect(types()).toEqual(["alert.firing"]);
  expect(emitted[0]?.data.value).toBeGreaterThan(2000);
});

test("unhealthy targets of a model fire, and healthy ones resolve it", async () => {
  const health = rule({ name: "health", metric: "unhealthy_targets", above: 0, model: "search" });
  const { pass, targets, types } = createSimulation(health);
  targets.push(target({ upstream: "a", models: ["other"], state: "ejected" }));
  await pass(2);
  expect(types()).toEqual([]);
  targets.push(target({ upstream: "b", state: "ejected" }));
  await pass(2);
  targets.length = 0;
  await pass(2);
  expect(types()).toEqual(["alert.firing", "alert.resolved"]);
});

test("the filter of a rule is the filter of the sums", async () => {
  const { pass, asked } = createSimulation(rule({ model: "search", project: "web" }));
  await pass(1);
  expect(asked[0]).toMatchObject({ model: "search", project: "web", interval: "hour" });
});

test("of two processes one evaluates, and the other goes on after it has stopped, without a second alert", async () => {
  const simulation = createSimulation(rule());
  const { state, pass, add, createProcess, types, asked } = simulation;
  await pass(5, () => add({ requests: 10, errors: 10 }));
  expect(types()).toEqual(["alert.firing"]);
  const other = createProcess("b");
  const before = asked.length;
  await other.evaluate();
  expect(asked.length).toBe(before);
  for (let at = 0; at < 10; at++) {
    state.at += minute;
    add({ requests: 100, errors: 50 });
    await other.evaluate();
  }
  expect(asked.length).toBeGreaterThan(before);
  expect(types()).toEqual(["alert.firing"]);
});

test("an alert whose event could not be recorded is announced by the next process, once", async () => {
  const { pass, add, emitted, types, restart, state } = createSimulation(rule());
  state.isRecording = false;
  await pass(5, () => add({ requests: 10, errors: 10 }));
  expect(types()).toEqual([]);
  state.isRecording = true;
  restart();
  await pass(5, () => add({ requests: 10, errors: 10 }));
  expect(types()).toEqual(["alert.firing"]);
  restart();
  await pass(5, () => add({ requests: 10, errors: 10 }));
  expect(emitted).toHaveLength(1);
});

test("the end of a deleted alert is announced by the next process if it could not be recorded", async () => {
  const { pass, add, types, restart, state, store } = createSimulation(rule());
  await pass(5, () => add({ requests: 10, errors: 10 }));
  state.rules = new Map();
  state.isRecording = false;
  await pass(3);
  state.isRecording = true;
  restart();
  await pass(3);
  expect(types()).toEqual(["alert.firing", "alert.resolved"]);
  expect(await store.list()).toEqual([]);
});

describe("the latest values of a rule", () => {
  const pointsOf = async ({ store }: Pick<ReturnType<typeof createSimulation>, "store">) =>
    (await store.list())[0]?.values?.points ?? [];

  test("are stored with each evaluation, and are no part of its events", async () => {
    const simulation = createSimulation(rule());
    const { state, pass, add, emitted } = simulation;
    await pass(20, () => add({ requests: 100, errors: 1 }));
    expect((await pointsOf(simulation)).at(-1)).toEqual([state.at, 1]);
    await pass(10, () => add({ requests: 100, errors: 50 }));
    const points = await pointsOf(simulation);
    expect(points).toHaveLength(30);
    expect(points[0]?.[0]).toBe(start + minute);
    expect(points.at(-1)?.[1]).toBeGreaterThan(20);
    expect(emitted.map(({ data }) => Object.keys(data))).toEqual([
      ["name", "metric", "value", "above", "minutes", "model", "project", "upstream", "since"],
    ]);
  });

  test("cover four windows, however long a window is, and end with the present value", async () => {
    const spend = rule({ name: "spend", metric: "spend", above: 100, minutes: 60 });
    const simulation = createSimulation(spend);
    await simulation.pass(400, () => simulation.add({ requests: 1, cost: 1 }));
    const points = await pointsOf(simulation);
    expect(points).toHaveLength(60);
    expect(points.at(-1)).toEqual([simulation.state.at, 60]);
    const [[first] = [0]] = points;
    expect(simulation.state.at - first).toBeGreaterThan(3.8 * hour);
    expect(simulation.state.at - first).toBeLessThan(4.2 * hour);
  });

  test("are unknown with too few requests, and start again when the rule is changed", async () => {
    const simulation = createSimulation(rule());
    const { state, pass, add, types } = simulation;
    await pass(3, () => add({ requests: 1 }));
    expect((await pointsOf(simulation)).map(([, value]) => value)).toEqual([null, null, null]);
    state.rules = new Map([["errors", rule({ metric: "spend", above: 100 })]]);
    await pass(2, () => add({ requests: 1, cost: 2 }));
    expect(await pointsOf(simulation)).toHaveLength(2);
    // Another bound is the same value.
    state.rules = new Map([["errors", rule({ metric: "spend", above: 50 })]]);
    await pass(1);
    expect(await pointsOf(simulation)).toHaveLength(3);
    expect(types()).toEqual([]);
  });

  test("go on in the process that evaluates the rules next", async () => {
    const simulation = createSimulation(rule());
    await simulation.pass(5, () => simulation.add({ requests: 100 }));
    simulation.restart();
    await simulation.pass(5, () => simulation.add({ requests: 100 }));
    expect(await pointsOf(simulation)).toHaveLength(10);
  });
});

test("the events of a rule name its receivers, if it has some of its own", async () => {
  const { pass, add, emitted } = createSimulation(rule({ receivers: ["ops", "finance"] }));
  await pass(10, () => add({ requests: 10, errors: 10 }));
  expect(emitted.map(({ data }) => data.receivers)).toEqual([["ops", "finance"]]);
});

describe("a silenced rule", () => {
  const by = { reason: "a planned migration", by: "Ada" };
  /** The simulation with its first alert known, and what receivers hear from then on. */
  const silencedFor = async (minutes: number, { isFiring }: { isFiring: boolean }) => {
    const simulation = createSimulation(rule());
    const { pass, add, emitted, createProcess } = simulation;
    const fail = () => add({ requests: 20, errors: 20 });
    const succeed = () => add({ requests: 500 });
    await pass(20, isFiring ? fail : succeed);
    // Another process: the silence is in the store.
    await createProcess("b").silence("errors", minutes, by);
    emitted.length = 0;
    const heard = () =>
      emitted.filter(({ data }) => data.silenced_until === undefined).map(({ type }) => type);
    return { ...simulation, fail, succeed, heard };
  };

  test("fires unheard, and is recorded with the end of the silence", async () => {
    const { pass, fail, emitted, heard, state } = await silencedFor(30, { isFiring: false });
    await pass(20, fail);
    expect(heard()).toEqual([]);
    expect(emitted.map(({ type }) => type)).toEqual(["alert.firing"]);
    const until = Date.parse(emitted[0]?.data.silenced_until ?? "");
    expect(until).toBe(state.at + 10 * minute);
  });

  test("that still fires when the silence ends is heard then, once", async () => {
    const { pass, fail, heard, store } = await silencedFor(30, { isFiring: false });
    await pass(29, fail);
    expect(heard()).toEqual([]);
    await pass(10, fail);
    expect(heard()).toEqual(["alert.firing"]);
    expect(await store.silences()).toEqual([]);
  });

  test("that fires and is resolved within the silence is never heard of", async () => {
    const { pass, fail, succeed, heard, types } = await silencedFor(60, { isFiring: false });
    await pass(20, fail);
    await pass(35, succeed);
    expect(types()).toEqual(["alert.firing", "alert.resolved"]);
    await pass(20, succeed);
    expect(heard()).toEqual([]);
  });

  test("that is resolved within the silence is resolved for its receivers when it ends", async () => {
    const { pass, succeed, heard } = await silencedFor(60, { isFiring: true });
    await pass(55, succeed);
    expect(heard()).toEqual([]);
    await pass(10, succeed);
    expect(heard()).toEqual(["alert.resolved"]);
  });

  test("that fires all the time is heard no second time", async () => {
    const { pass, fail, heard, types } = await silencedFor(30, { isFiring: true });
    await pass(60, fail);
    expect([heard(), types()]).toEqual([[], []]);
  });

  test("is heard again once an administrator ends the silence", async () => {
    const { pass, fail, heard, createProcess } = await silencedFor(600, { isFiring: false });
    await pass(20, fail);
    await createProcess("b").endSilence("errors");
    await pass(1, fail);
    expect(heard()).toEqual(["alert.firing"]);
  });

  test("that is deleted ends its alert for the receivers that know it, and its silence", async () => {
    const known = await silencedFor(600, { isFiring: true });
    const unheard = await silencedFor(600, { isFiring: false });
    for (const { pass, fail, state, store } of [known, unheard]) {
      await pass(20, fail);
      state.rules = new Map();
      await pass(2);
      expect(await store.silences()).toEqual([]);
      expect(await store.list()).toEqual([]);
    }
    expect(known.heard()).toEqual(["alert.resolved"]);
    expect(unheard.heard()).toEqual([]);
  });
});

describe("a restart of the process", () => {
  /** Restarts in the first, the last and some other minute of an hour. */
  const minutesOfHour = [
    0,
    1,
    59,
    ...Array.from({ length: 5 }, () => Math.floor(Math.random() * 60)),
  ];
  const metrics = [
    { name: "errors", sums: { requests: 20, errors: 5 } },
    { name: "slow", metric: "latency_p95", above: 2000, sums: { requests: 20, slow: 10 } },
    { name: "spend", metric: "spend", above: 10, minutes: 15, sums: { requests: 1, cost: 1 } },
  ] as const;

  test.each(metrics)("neither resolves the alert $name nor fires it again", async (given) => {
    const { sums, ...more } = given;
    for (const minuteOfHour of minutesOfHour) {
      const { state, pass, add, types, restart } = createSimulation(rule(more));
      state.at = hourOf(start) + (minuteOfHour - 20) * minute;
      await pass(20, () => add(sums));
      expect([minuteOfHour, ...types()]).toEqual([minuteOfHour, "alert.firing"]);
      restart();
      // The first evaluation finds no new request.
      await pass(1);
      await pass(30, () => add(sums));
      restart();
      await pass(20, () => add(sums));
      expect([minuteOfHour, ...types()]).toEqual([minuteOfHour, "alert.firing"]);
      restart();
      // The next requests are good ones.
      await pass(40, () => add({ requests: 20 }));
      expect([minuteOfHour, ...types()]).toEqual([minuteOfHour, "alert.firing", "alert.resolved"]);
    }
  });

  test("resolves an alert that can no longer be above its bound", async () => {
    const { state, pass, add, types, restart } = createSimulation(rule({ minutes: 1440 }));
    state.at = hourOf(start) + 30 * minute;
    await pass(3, () => add({ requests: 100, errors: 50 }));
    state.at += 23 * hour;
    restart();
    // Even with all 150 errors of the first hour, less than five percent of the requests of the day failed.
    await pass(2, () => add({ requests: 5000 }));
    expect(types()).toEqual(["alert.firing", "alert.resolved"]);
  });

  test("does not resolve an alert about a target that has had no request since", async () => {
    const health = rule({ name: "health", metric: "unhealthy_targets", above: 0 });
    const { pass, targets, types, restart } = createSimulation(health);
    targets.push(target({ state: "ejected" }));
    await pass(2);
    restart();
    targets[0] = target({ counts: { responses: 0, failed: 0 } });
    await pass(5);
    expect(types()).toEqual(["alert.firing"]);
    targets[0] = target();
    await pass(2);
    expect(types()).toEqual(["alert.firing", "alert.resolved"]);
  });

  test("resolves an alert about a target that gets no requests after the window of the rule", async () => {
    const health = rule({ name: "health", metric: "unhealthy_targets", above: 0 });
    const { pass, targets, types, restart } = createSimulation(health);
    targets.push(target({ state: "ejected" }));
    await pass(2);
    restart();
    targets[0] = target({ counts: { responses: 0, failed: 0 } });
    await pass(17);
    expect(types()).toEqual(["alert.firing", "alert.resolved"]);
  });
});

test("the alert of a deleted rule is resolved", async () => {
  const { state, pass, add, types, store } = createSimulation(rule());
  await pass(5, () => add({ requests: 10, errors: 10 }));
  state.rules = new Map();
  await pass(2);
  expect(types()).toEqual(["alert.firing", "alert.resolved"]);
  expect(await store.list()).toEqual([]);
});
