/** Target registry: health survives a reload, and is evicted with targets that are no longer configured. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { loadSnapshot } from "../../server/config/build/load-snapshot.ts";
import type { Model, Snapshot } from "../../server/config/snapshot.ts";
import { brand } from "../../server/lib/branded.ts";
import { realTimers } from "../../server/lib/timers.ts";
import { TargetRegistry } from "../../server/routing/target-registry.ts";
import { temporaryFolder } from "../harness.ts";
import { eject } from "./routing-fixture.ts";

function configured(yaml: string): Snapshot {
  using folder = temporaryFolder();
  const path = `${folder.path}/vexel.yaml`;
  writeFileSync(path, yaml);
  const loaded = loadSnapshot({ path, namedBy: "VEXEL_CONFIG", env: {} });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.snapshot;
}

const file = ({ key = "k-1", url = "http://a/v1", models = ["m"], more = "" } = {}): string => `
builtInModels: false
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
  const targetsOf = (id: string) =>
    registry.targetsFor(brand<Model, "permitted">(snapshot.models.get(id)!));
  return {
    registry,
    targetsOf,
    reload: (yaml: string) => {
      snapshot = configured(yaml);
    },
  };
}

describe("after a reload", () => {
  const isOut = ({ targetsOf }: ReturnType<typeof arrange>) =>
    targetsOf("m").candidates[0]!.health.breaker.isOpen;

  test.each([
    ["nothing changed", file()],
    ["its weight changed", file({ more: ", weight: 3" })],
    ["another model was added", file({ models: ["m", "n"] })],
  ])("an ejected target stays ejected if %s", (_, yaml) => {
    const setup = arrange(file());
    eject(setup.targetsOf("m").candidates[0]!, 0);
    setup.reload(yaml);
    expect(isOut(setup)).toBe(true);
  });

  test.each([
    ["key", file({ key: "k-2" })],
    ["address", file({ url: "http://c/v1" })],
  ])("a target with a new %s starts with fresh health", (_, yaml) => {
    const setup = arrange(file());
    eject(setup.targetsOf("m").candidates[0]!, 0);
    setup.reload(yaml);
    expect(isOut(setup)).toBe(false);
  });

  test("targets that are no longer configured are evicted: configured again, they start with fresh health", () => {
    const setup = arrange(file());
    for (let round = 0; round < 3; round++) {
      eject(setup.targetsOf("m").candidates[0]!, 0);
      expect(isOut(setup)).toBe(true);
      setup.reload(file({ models: ["n"] }));
      expect(setup.targetsOf("n").candidates).toHaveLength(2);
      setup.reload(file());
      expect(isOut(setup)).toBe(false);
    }
  });

  test("the retry budget keeps its state", () => {
    const setup = arrange(file());
    const { retries } = setup.targetsOf("m").budgets;
    setup.reload(file({ more: ", weight: 2" }));
    expect(setup.targetsOf("m").budgets.retries).toBe(retries);
  });
});

describe("the order of targets", () => {
  const tiersOf = (kind: string, ...targets: string[]) => {
    const yaml = `
builtInModels: false
upstreams: [{ id: a, kind: openai, apiKey: k }]
models: [{ id: m, kind: ${kind}, targets: [${targets.map((more) => `{ upstream: a, model: x${more} }`).join(", ")}] }]
`;
    return arrange(yaml)
      .targetsOf("m")
      .candidates.map(({ tier, weight }) => `${tier}/${weight}`);
  };

  test("of an embedding model is one tier: all share the requests, unless the configuration says otherwise", () => {
    expect(tiersOf("embedding", "", "")).toEqual(["0/1", "0/1"]);
    expect(tiersOf("embedding", ", weight: 2.5", "")).toEqual(["0/2.5", "0/1"]);
    expect(tiersOf("embedding", ", tier: 2", "")).toEqual(["0/1", "2/1"]);
  });

  test("of an image model is the order of the list, unless the configuration says otherwise", () => {
    expect(tiersOf("image", "", "", "")).toEqual(["0/1", "1/1", "2/1"]);
    expect(tiersOf("image", ", tier: 0", ", tier: 0", ", tier: 5")).toEqual(["0/1", "0/1", "5/1"]);
    expect(tiersOf("image", ", tier: 1", "")).toEqual(["0/1", "1/1"]);
  });
});
