/** Budgets of keys and projects in vexel.yaml: parsed, validated, and attached to the keys that they apply to. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import { withStoredKeys } from "../../server/config/build/build-snapshot.ts";
import { loadSnapshot } from "../../server/config/build/load-snapshot.ts";
import { StoredKeys } from "../../server/config/build/stored-keys.ts";
import { describeProblems } from "../../server/config/yaml/problem.ts";
import { runAtOnce } from "../../server/lib/tasks.ts";
import { temporaryFolder } from "../harness.ts";

const load = (yaml: string) => {
  using folder = temporaryFolder();
  const path = join(folder.path, "vexel.yaml");
  writeFileSync(path, yaml);
  return loadSnapshot({ path, namedBy: "VEXEL_CONFIG", env: {} });
};

const budgetsOf = (yaml: string) => {
  const loaded = load(yaml);
  if (!loaded.ok) throw new Error(describeProblems(loaded.problems));
  const { snapshot } = loaded;
  return Object.fromEntries([...snapshot.keys.values()].map((key) => [key.name, key.budgets]));
};

const problemsOf = (yaml: string): string => {
  const loaded = load(yaml);
  return loaded.ok ? "" : describeProblems(loaded.problems);
};

const key = (more: string) => `keys:\n  - { name: ci, key: sk-test-0123456789abcdef, ${more} }\n`;

test("a key is charged to its own budget and to its project's, and a key without budgets to none", () => {
  const budgets = budgetsOf(`
projects:
  - { name: web, budget: { month: 100 } }
  - { name: free }
keys:
  - { name: both, key: sk-test-0123456789abcde0, project: web, budget: { day: 5, total: 0, unknownPrice: refuse } }
  - { name: shared, key: sk-test-0123456789abcde1, project: web }
  - { name: none, key: sk-test-0123456789abcde2, project: free }
`);
  const web: BudgetedOwner = {
    scope: "project",
    id: "web",
    name: "web",
    budget: { month: 100, unknownPrice: "allow" },
  };
  const own: BudgetedOwner = {
    scope: "key",
    id: "file:both",
    name: "both",
    budget: { day: 5, total: 0, unknownPrice: "refuse" },
  };
  expect(budgets).toEqual({ both: [own, web], shared: [web], none: undefined });
});

test("a key created on the command line is charged to its project's budget", () => {
  const loaded = load("projects:\n  - { name: web, budget: { day: 1 } }\n");
  if (!loaded.ok) throw new Error("the configuration was not loaded");
  const stored = {
    id: "key_1",
    name: "ci",
    hash: "h",
    models: ["*"],
    project: "web",
    source: "store",
  } as const;
  const { snapshot } = loaded;
  const change = { key: stored, isRevoked: false };
  const storedKeys = runAtOnce(StoredKeys.empty.withProjects(snapshot.projects)).withChanges([
    change,
  ]);
  const [made] = withStoredKeys(snapshot, storedKeys).keys.values();
  expect(made?.budgets).toEqual([
    { scope: "project", id: "web", name: "web", budget: { day: 1, unknownPrice: "allow" } },
  ]);
});

test.each([
  ["budget: { day: -1 }", "keys[0].budget.day"],
  ["budget: { month: much }", "keys[0].budget.month"],
  ["budget: { week: 5 }", "known here: day, month, total, unknownPrice"],
  ["budget: { moth: 5 }", "did you mean `month`?"],
  ["budget: { unknownPrice: perhaps }", "must be one of allow, refuse"],
  ["budget: 5", "keys[0].budget"],
  ["priority: high", "must be batch"],
])("%s is rejected with its location and the fix", (text, message) => {
  expect(problemsOf(key(text))).toContain(message);
});
