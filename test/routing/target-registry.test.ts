/** Target registry: health survives a reload, and is evicted with targets that are no longer configured. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { loadSnapshot } from "../../server/config/load-snapshot.ts";
import type { Model, Snapshot } from "../../server/config/snapshot.ts";
import { brand } from "../../server/lib/branded.ts";
import { realTimers } from "../../server/lib/timers.ts";
import { TargetRegistry } from "../../server/routing/target-registry.ts";
import { temporaryFolder } from "../harness.ts";
import { dies } from "./routing-fixture.ts";

function configured(yaml: string): Snapshot {
  using folder = temporaryFolder();
  const path = `${folder.path}/vexel.yaml`;
  writeFileSync(path, yaml);
  const loaded = loadSnapshot({ path, required: true, env: {} });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.snapshot;
}

const file = ({ key = "k-1", url = "http://a/v1", models = ["m"], more = "" } = {}): string => `
embedded: false
upstreams:
  - { id: a, kind: openai, baseUrl: "${url}", apiKey: ${key} }
  - { id: b, kind: openai, baseUrl: "http://b/v1", apiKey: k }
models:
${models.map((id) => `  - { id: ${id}, kind: embedding, targets: [{ upstream: a, model: ${id}${more} }, { upstream: b, model: ${id} }] }`).join("\n")}
`;

function arrange(first: string) {
  let snapshot = configured(first);
  const registry = new TargetRegistry({
    snapshot: () => snapshot,
    clock: () => 0,
    random: () => 0.5,
    timers: realTimers,
    onTargetChange: () => undefined,
  });
  const tableOf = (id: string) =>
    registry.targetsFor(brand<Model, "permitted">(snapshot.models.get(id)!));
  return {
    roster: registry,
    tableOf,
    reload: (yaml: string) => {
      snapshot = configured(yaml);
    },
  };
}

describe("after a reload", () => {
  const isOut = ({ tableOf }: ReturnType<typeof arrange>) =>
    tableOf("m").candidates[0]!.health.breaker.open;

  test.each([
    ["nothing is another", file()],
    ["its weight is another", file({ more: ", weight: 3" })],
    ["there is another model beside it", file({ models: ["m", "n"] })],
  ])("a target that fails is still known to, where %s", (_, yaml) => {
    const arranged = arrange(file());
    dies(arranged.tableOf("m").candidates[0]!, 0);
    arranged.reload(yaml);
    expect(isOut(arranged)).toBe(true);
  });

  test.each([
    ["key", file({ key: "k-2" })],
    ["address", file({ url: "http://c/v1" })],
  ])("a target with another %s begins anew", (_, yaml) => {
    const arranged = arrange(file());
    dies(arranged.tableOf("m").candidates[0]!, 0);
    arranged.reload(yaml);
    expect(isOut(arranged)).toBe(false);
  });

  test("what is no longer configured is forgotten, however often that happens", () => {
    const arranged = arrange(file());
    for (let round = 0; round < 50; round++) {
      arranged.reload(file({ models: [`m${round}`] }));
      expect(arranged.tableOf(`m${round}`).candidates).toHaveLength(2);
      expect(arranged.roster.usedTargets()).toHaveLength(2);
    }
  });

  test("the budget for second tries is what was left of it", () => {
    const arranged = arrange(file());
    const { retries } = arranged.tableOf("m").budgets;
    arranged.reload(file({ more: ", weight: 2" }));
    expect(arranged.tableOf("m").budgets.retries).toBe(retries);
  });
});

describe("the order of targets", () => {
  const tiersOf = (kind: string, ...targets: string[]) => {
    const yaml = `
embedded: false
upstreams: [{ id: a, kind: openai, apiKey: k }]
models: [{ id: m, kind: ${kind}, targets: [${targets.map((more) => `{ upstream: a, model: x${more} }`).join(", ")}] }]
`;
    return arrange(yaml)
      .tableOf("m")
      .candidates.map(({ tier, weight }) => `${tier}/${weight}`);
  };

  test("of vectors is none: all share the calls, unless the file says otherwise", () => {
    expect(tiersOf("embedding", "", "")).toEqual(["0/1", "0/1"]);
    expect(tiersOf("embedding", ", weight: 2.5", "")).toEqual(["0/2.5", "0/1"]);
    expect(tiersOf("embedding", ", tier: 2", "")).toEqual(["0/1", "2/1"]);
  });

  test("of pictures is that of the list, unless the file says otherwise", () => {
    expect(tiersOf("image", "", "", "")).toEqual(["0/1", "1/1", "2/1"]);
    expect(tiersOf("image", ", tier: 0", ", tier: 0", ", tier: 5")).toEqual(["0/1", "0/1", "5/1"]);
    expect(tiersOf("image", ", tier: 1", "")).toEqual(["0/1", "1/1"]);
  });
});
