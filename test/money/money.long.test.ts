/**
 * The law of money, over real processes and servers: random programs at vendors that keep an invoice, with faults. When it
 * is quiet again, each dollar of the invoice is in one row, each budget has spent the sum of its rows, and no more was
 * admitted than its limit.
 *
 * `MONEY_SEED=17` runs one program, `MONEY_SEEDS=100` so many, and `MONEY_CHECKOUT=/folder` the gateways of another checkout,
 * such as an older commit in a worktree of git.
 */
import { describe, expect } from "bun:test";
import { type isSkipped, testWith } from "../programs.ts";
import { driftFaults, measureDrift } from "./drift.ts";
import { inTurn } from "./pool.ts";
import { runScenario } from "./run-program.ts";
import { scenarioCount, scenarioOf } from "./scenarios.ts";

const {
  MONEY_SEED: one,
  MONEY_SEEDS: count = scenarioCount,
  MONEY_CHECKOUT: checkout,
} = process.env;
const seeds =
  one === undefined ? Array.from({ length: Number(count) }, (_, seed) => seed) : [Number(one)];

/** Each waits for its turn. */
const timeoutMs = 900_000;

describe("each dollar is in one place", () => {
  for (const seed of seeds) {
    const scenario = scenarioOf(seed);
    const { topology, faults, hasJobs } = scenario;
    const name = `seed ${seed}: ${topology}, ${faults.join(", ") || "no fault"}${hasJobs ? ", with jobs" : ""}`;
    const needed =
      topology === "sqlite"
        ? []
        : topology === "postgres"
          ? ["postgresql"]
          : ["postgresql", "redis"];
    testWith(...(needed as Parameters<typeof isSkipped>[0]))(
      name,
      async () => {
        const { violations, summary } = await inTurn(() => runScenario(scenario, checkout));
        console.log(summary);
        expect(violations.map(({ law, text }) => `${law}: ${text}`)).toEqual([]);
      },
      timeoutMs,
    );
  }
});

/** What replicas show as spent, less what the rows cost. */
describe("the spent amounts of replicas are those of the ledger within three seconds after", () => {
  for (const fault of one === undefined ? driftFaults : [])
    testWith("postgresql", "redis")(
      fault,
      async () => {
        const { samples, requests, charged } = await inTurn(() =>
          measureDrift(fault, 5000, checkout),
        );
        const wrong = samples
          .filter(({ ms }) => ms > 3000)
          .filter(({ drifts }) => drifts.some((drift) => Math.abs(drift) > requests));
        const shown = wrong.map(
          ({ ms, drifts }) => `${ms} ms: ${drifts.map((drift) => drift / 1e9).join(", ")} dollars`,
        );
        expect({ charged, wrong: shown.slice(0, 1) }).toEqual({ charged, wrong: [] });
      },
      timeoutMs,
    );
});
