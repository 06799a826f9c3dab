/**
 * Budgets hold in any order of events: bursts, clock jumps, reloads, crashes; thousands of runs, each reproducible by
 * its seed.
 */
import { describe, expect, test } from "bun:test";
import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import type { Estimate } from "../../server/budgets/budgets.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { scaled } from "../depth.ts";
import { temporaryFolder } from "../harness.ts";
import { spentIn } from "../ledger/stored-rows.ts";
import { BudgetSimulation, plainLedger, type TestLedger, whole } from "./budgets-fixture.ts";
import { randomFrom } from "./routing-simulation.ts";

/** Two minutes before a new year, two minutes before a leap day, and an ordinary day. */
const starts = [
  Date.UTC(2026, 11, 31, 23, 58),
  Date.UTC(2028, 1, 28, 23, 58),
  Date.UTC(2026, 10, 15),
];
const [minute, day] = [60_000, 86_400_000];

interface Run {
  readonly seed: number;
  readonly ledger: TestLedger;
  readonly steps: number;
  /** Whether requests may cost more than their estimate. */
  readonly errs: boolean;
  readonly reloads: boolean;
}

function run({ seed, ledger, steps, errs, reloads }: Run): BudgetSimulation {
  const random = randomFrom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const amount = (): number => whole(pick([0.01, 0.03, 0.1, 1 / 3, 1, 2e-8, random() * 2]));
  const budget = (scope: BudgetedOwner["scope"], id: string): BudgetedOwner => ({
    scope,
    id,
    name: id,
    budget: {
      ...(random() < 0.7 && { day: amount() * 5 }),
      ...(random() < 0.5 && { month: amount() * 10 }),
      ...(random() < 0.5 && { total: amount() * 20 }),
      unknownPrice: random() < 0.1 ? "refuse" : "allow",
    },
  });
  const projects = ["p0", "p1"];
  const homes: Readonly<Record<string, string>> = { k0: "p0", k1: "p0", k2: "p1" };
  const configure = () =>
    Object.fromEntries(
      Object.entries(homes).map(([key, project]) => [
        key,
        [budget("key", key), shared[projects.indexOf(project)] as BudgetedOwner],
      ]),
    );
  let shared = projects.map((name) => budget("project", name));
  let charged = configure();
  const maxCounters = pick([1, 4, 1000]);
  const simulation = new BudgetSimulation(ledger, maxCounters);
  let at = pick(starts);
  for (let step = 0; step < steps; step++) {
    const what = random();
    const key = pick(Object.keys(homes));
    if (what < 0.5) {
      // A burst, or one request.
      const dollars = random() < 0.05 ? 0 : amount();
      const estimate: Estimate =
        random() < 0.85
          ? {
              dollars,
              ...(random() < 0.3 && { maxDollars: dollars * (1 + random() * 3) }),
              isCertain: random() < 0.9,
            }
          : { dollars: undefined, isCertain: false };
      const count = random() < 0.1 ? 25 : 1;
      for (let request = 0; request < count; request++) {
        simulation.begin(key, homes[key] as string, charged[key] ?? [], estimate, at);
      }
    } else if (what < 0.85) {
      const which = Math.floor(random() * simulation.open.length);
      const estimate = simulation.open[which]?.estimate.dollars ?? amount();
      const cost = pick([estimate, estimate * random(), 0, undefined, null]);
      simulation.end(which, errs && random() < 0.3 ? estimate * (1 + random()) : cost);
    } else if (what < 0.97) {
      at += pick([1, 1000, minute, 3 * minute, day, 31 * day, -minute, -day, -31 * day]);
    } else if (what < 0.985) {
      simulation.restart();
    } else if (reloads) {
      shared = projects.map((name) => budget("project", name));
      // Requests in flight keep the budgets they started with, and their ends are checked against those.
      while (simulation.open.length > 0) simulation.end(0, 0);
      charged = configure();
    }
  }
  while (simulation.open.length > 0) simulation.end(0, null);
  // Without space for its counter a budget reports an event again, and the event log deduplicates it by its ID.
  if (!reloads && maxCounters === 1000)
    expect(new Set(simulation.emitted).size).toBe(simulation.emitted.length);
  return simulation;
}

describe("in a simulation of budgets", () => {
  test("a request is admitted exactly if its cost fits, and the counters equal the sums of the ledger rows", () => {
    for (let seed = 0; seed < scaled(1500); seed++) {
      run({ seed, ledger: plainLedger(), steps: 60, errs: true, reloads: seed % 2 === 0 });
    }
  });

  test("no budget is exceeded if no request costs more than its estimate", () => {
    for (let seed = 0; seed < scaled(1000); seed++) {
      const random = randomFrom(seed);
      const simulation = new BudgetSimulation(plainLedger(), 1000);
      const key: BudgetedOwner = {
        scope: "key",
        id: "k0",
        name: "k0",
        budget: { day: 1, month: 3, total: 5, unknownPrice: "allow" },
      };
      let at = starts[seed % starts.length] as number;
      for (let step = 0; step < 80; step++) {
        const dollars = random() * 0.3;
        if (random() < 0.6) simulation.begin("k0", "p0", [key], { dollars, isCertain: true }, at);
        else {
          const which = Math.floor(random() * simulation.open.length);
          const estimate = simulation.open[which]?.estimate.dollars ?? 0;
          simulation.end(which, random() < 0.2 ? undefined : estimate * random());
        }
        if (random() < 0.1) at += (random() - 0.3) * day;
        if (random() < 0.02) simulation.restart();
        for (const [period, limit] of [
          [new Date(at).toISOString().slice(0, 10), 1],
          [new Date(at).toISOString().slice(0, 7), 3],
          ["total", 5],
        ] as const) {
          const spent = simulation.ledger.spent(key, period);
          if (spent > limit * (1 + 1e-8)) expect(`seed ${seed}: ${spent}`).toBe(`${limit} at most`);
        }
      }
    }
  });

  test("a budget for ten requests admits ten of a hundred concurrent ones, and is exceeded at most by their estimation errors", () => {
    for (let seed = 0; seed < scaled(300); seed++) {
      const random = randomFrom(seed);
      const price = whole(random() + 0.001);
      const simulation = new BudgetSimulation(plainLedger(), 1000);
      const key: BudgetedOwner = {
        scope: "key",
        id: "k0",
        name: "k0",
        budget: { total: price * 10, unknownPrice: "allow" },
      };
      const at = starts[0] as number;
      const estimate = { dollars: price, isCertain: true };
      const outcomes = Array.from({ length: 100 }, () =>
        simulation.begin("k0", "p0", [key], estimate, at),
      );
      expect(outcomes.filter(Boolean)).toHaveLength(10);
      // One of the ten costs 1.5 times its estimate.
      const odd = Math.floor(random() * 10);
      for (let request = 0; request < 10; request++) {
        const which = Math.floor(random() * simulation.open.length);
        simulation.end(which, request === odd ? price * 1.5 : price);
        // No further request is admitted while others end.
        expect(simulation.begin("k0", "p0", [key], estimate, at)).toBe(false);
      }
      expect(simulation.ledger.spent(key, "total")).toBeLessThanOrEqual(price * 10.5 + 1e-8);
    }
  });
});

test("with a real ledger, budgets equal the sums of its rows after any number of crashes", () => {
  for (let seed = 0; seed < scaled(20); seed++) {
    using folder = temporaryFolder();
    let file = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
    const reopen = (): SqliteLedgerStore => {
      file.close();
      file = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
      return file;
    };
    let written = 0;
    const ledger: TestLedger = {
      write: (row) => {
        file.write([row]);
        // A row that is still in the outbox is written a second time.
        if (++written % 7 === 0) reopen().write([row]);
        if (written % 11 === 0) file.prune(row.at + day, 5);
      },
      spent: (owner, period) => spentIn(file, owner, period),
    };
    run({ seed, ledger, steps: 150, errs: true, reloads: seed % 2 === 0 });
    file.close();
  }
});
