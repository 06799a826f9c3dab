/** What a seed stands for: the topology, its faults, and whether the program has jobs. */
import type { FaultName } from "./faults.ts";
import type { TopologyName } from "./gateways.ts";
import { Random } from "./random.ts";

export interface Scenario {
  readonly seed: number;
  readonly topology: TopologyName;
  readonly faults: readonly FaultName[];
  /** Image jobs and batches. After kill -9 they go on when their lease of half a minute has ended. */
  readonly hasJobs: boolean;
}

type Template = readonly [TopologyName, readonly FaultName[], "jobs"?];

const templates: readonly Template[] = [
  ["sqlite", [], "jobs"],
  ["sqlite", ["kill -9 at a delivery"], "jobs"],
  ["postgres", ["PostgreSQL stops"]],
  ["postgres", ["kill -9", "PostgreSQL hangs"]],
  ["replicas", [], "jobs"],
  ["replicas", ["kill -9"], "jobs"],
  ["replicas", ["Redis is flushed"]],
  ["replicas", ["Redis stops"]],
  ["replicas", ["Redis hangs", "PostgreSQL stops"]],
  ["sentinel", ["Redis fails over"]],
  ["replicas", ["the object store stops", "skewed clock"], "jobs"],
  ["sqlite", ["few connections"], "jobs"],
  ["replicas", ["a key is revoked"], "jobs"],
];

const others: readonly FaultName[] = [
  "kill -9",
  "PostgreSQL stops",
  "PostgreSQL hangs",
  "Redis stops",
  "Redis hangs",
  "Redis is flushed",
];

/** The seeds from 0 to this one have each scenario once. */
export const scenarioCount = templates.length + 1;

export function scenarioOf(seed: number): Scenario {
  const template = templates[seed % scenarioCount];
  if (template) {
    const [topology, faults, jobs] = template;
    return { seed, topology, faults, hasJobs: jobs !== undefined };
  }
  const random = new Random(seed);
  const faults = [random.pick(others), random.pick(others)].filter(
    (name, at, all) => all.indexOf(name) === at,
  );
  return { seed, topology: "replicas", faults, hasJobs: false };
}
