/**
 * Three replicas behind nginx under load: one fault after the other, and every promise is checked after each.
 * `npm run topology` does the same for longer.
 */
import { afterAll, expect } from "bun:test";
import { beforeAllWith, type Program, testWith } from "../programs.ts";
import { checkLedger } from "./checks.ts";
import { faults, isPossibleIn } from "./faults.ts";
import { Load } from "./load.ts";
import { explain, runFault } from "./run-fault.ts";
import { startTopology, type Topology } from "./topology.ts";

const needed: readonly Program[] = ["nginx", "postgresql", "redis"];
const topologyTest = testWith(...needed);
/** Short, and with a wide margin for a busy machine. */
const pace = { requests: 40, ms: 500, maxRevocationMs: 10_000 };
let topology: Topology;
let load: Load;
beforeAllWith(needed, async () => {
  topology = await startTopology();
  load = new Load(topology);
  // Each fault waits for a number of requests. More load would take CPU time from the tests of other processes.
  load.start(3, 1, 100);
});
afterAll(async () => {
  await load?.stop();
  await topology?.close();
});

for (const fault of faults) {
  topologyTest(`nothing is lost, doubled or paid for twice when ${fault.name}`, async () => {
    if (!isPossibleIn(topology, fault)) return;
    const { broken } = await runFault(topology, load, fault, pace);
    expect(broken).toEqual([]);
  });
}

topologyTest("every error of a client is explained by a fault", async () => {
  await load.stop();
  const { unexplained } = explain(faults, [...load.errors, ...load.failedCalls]);
  expect(unexplained).toEqual([]);
  // A row without a completed request belongs to a request that failed.
  const { rows } = await checkLedger(topology, load);
  expect(rows - load.requestIds.size).toBeLessThanOrEqual(load.errors.length);
});
