/** Alert rules: when they fire and are resolved, with the sums of a ledger that the test writes. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import type { EventData } from "../../contract/events.ts";
import type { AlertRule } from "../../server/config/snapshot.ts";
import { createAlerts } from "../../server/events/alerts/evaluate-alerts.ts";
import type { UsageGroup, UsageQuery } from "../../server/storage/ports/ledger-queries.ts";
import { createAlertStore } from "../../server/storage/sql/alert-store.ts";
import { migrate } from "../../server/storage/sqlite/migrate.ts";
import { eventMigrations } from "../../server/storage/sqlite/migrations/events.ts";
import { SqliteDatabase } from "../../server/storage/sqlite/sqlite-database.ts";

const [minute, hour] = [60_000, 3_600_000];
const start = Date.UTC(2026, 0, 1, 12, 0);

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
  const state = { at: start, rules: new Map(given.map((each) => [each.name, each])) };
  const targets: { upstream: string; models: string[]; state: string }[] = [];

  const add = (more: { requests?: number; errors?: number; cost?: number; slow?: number }) => {
    const from = state.at - (state.at % hour);
    const { requests = 0, errors = 0, cost = 0, slow = 0 } = more;
    const before = hours.get(from);
    const histogram = before?.latencyHistogram ?? new Array<number>(13).fill(0);
    hours.set(from, {
      ...noSums,
      from,
      requests: (before?.requests ?? 0) + requests,
      errors: (before?.errors ?? 0) + errors,
      cost: (before?.cost ?? 0) + cost,
      latencyHistogram: histogram.map((count, at) => {
        if (at === 2) return count + requests - slow;
        return at === 8 ? count + slow : count;
      }),
    });
  };
  const createProcess = (owner: string) => {
    const keys = new Set<string>();
    return createAlerts({
      store,
      rules: () => state.rules,
      owner,
      now: () => state.at,
      emit: ({ type, data, deduplicationKey = "" }) => {
        if (keys.has(deduplicationKey)) return;
        keys.add(deduplicationKey);
        emitted.push({ type, data: data as Emitted["data"], key: deduplicationKey });
      },
      flush: async () => {},
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
  const alerts = createProcess("a");
  /** Evaluates the rules every minute, after `each` has added requests. */
  const pass = async (minutes: number, each: () => void = () => {}) => {
    for (let at = 0; at < minutes; at++) {
      state.at += minute;
      each();
      await alerts.evaluate();
    }
  };
  const types = () => emitted.map(({ type }) => type);
  return { state, add, pass, alerts, createProcess, emitted, types, targets, asked, store };
}

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
  state.at = start + 50 * minute;
  await pass(5, () => add({ requests: 100 }));
  // The hour ends within the window of 15 minutes: 30 errors after it are few among the requests on both sides of it.
  await pass(7, () => add({ requests: 100, errors: state.at >= start + hour ? 10 : 0 }));
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

test("errors from before the start of the process do not fire an alert", async () => {
  const { pass, add, types, state } = createSimulation(rule());
  state.at = start + 30 * minute;
  add({ requests: 1000, errors: 1000 });
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
  targets.push({ upstream: "a", models: ["other"], state: "ejected" });
  await pass(2);
  expect(types()).toEqual([]);
  targets.push({ upstream: "b", models: ["search"], state: "ejected" });
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

test("an alert whose event was not recorded is announced again with the same key", async () => {
  const { pass, add, store, emitted, createProcess, state } = createSimulation(rule());
  await pass(5, () => add({ requests: 10, errors: 10 }));
  const [alert] = await store.list();
  if (!alert) throw new Error("the alert has no state");
  await store.put({ ...alert, isAnnounced: false });
  state.at += 3 * minute;
  const restarted = createProcess("b");
  await restarted.evaluate();
  add({ requests: 10, errors: 10 });
  state.at += minute;
  await restarted.evaluate();
  expect(new Set(emitted.map(({ key }) => key)).size).toBe(1);
});

test("the alert of a deleted rule is resolved", async () => {
  const { state, pass, add, types, store } = createSimulation(rule());
  await pass(5, () => add({ requests: 10, errors: 10 }));
  state.rules = new Map();
  await pass(2);
  expect(types()).toEqual(["alert.firing", "alert.resolved"]);
  expect(await store.list()).toEqual([]);
});
