/**
 * Drift canary: a target whose vectors differ from those of the model's first target is detected, reported and excluded
 * until it is realigned.
 */

import { describe, expect, test } from "bun:test";
import type { Model, Snapshot } from "../../server/config/snapshot.ts";
import {
  type CanaryOptions,
  type CanaryReport,
  cosineSimilarity,
  createCanary,
} from "../../server/embeddings/drift-canary.ts";
import { createDriftDetection } from "../../server/embeddings/drift-detection.ts";
import { createLog } from "../../server/lib/log.ts";
import type { Target, Vector } from "../../server/upstream/contract.ts";
import { fakeVector, startFake } from "../fake-upstream.ts";
import { expectVectors } from "../faults/faults-fixture.ts";
import { startGateway, testKey } from "../harness.ts";
import { until } from "../until.ts";
import { modelWithTargets, targetNamed } from "./stage-fixture.ts";
import { embeddingResponse } from "./upstream-response.ts";

const [a, b, c] = [targetNamed("a"), targetNamed("b"), targetNamed("c")];
const modelNamed = (id: string, ...targets: Target[]): Model => ({
  ...modelWithTargets(...targets),
  id,
});

const noKeys = Object.assign(new Map(), { findById: () => undefined });

/** By upstream: its vector, its error, or no response until the timeout of the request. */
type Outcomes = Record<string, Vector | Error | "nothing">;

function setUpCanary(models: Model[], outcomes: Outcomes, more: Partial<CanaryOptions> = {}) {
  const reports: CanaryReport[] = [];
  const requested: string[] = [];
  const snapshot = (): Snapshot => ({
    version: 1,
    upstreams: new Map(),
    models: new Map(models.map((model) => [model.id, model])),
    keys: noKeys,
  });
  const canary = createCanary({
    snapshot,
    ...more,
    report: (one) => reports.push(one),
    embed: async (_, { upstream: { id } }, signal) => {
      requested.push(id);
      const outcome = outcomes[id];
      if (outcome === "nothing") {
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
          setTimeout(() => reject(new Error("it did not respond in time")), 20);
        });
      }
      if (outcome instanceof Error || outcome === undefined) throw outcome;
      return outcome;
    },
  });
  const summaries = (): string[] =>
    reports.map(({ status, target }) => `${target.upstream.id} ${status}`);
  return { canary, reports, requested, summaries, models, outcomes };
}

const right = fakeVector("the right model", 64);
const wrong = fakeVector("another model", 64);
/** The same model on another machine: almost the same vector. */
const nearly = right.map((number, at) => number * (1 + (at % 2 ? 1e-3 : -1e-3)));
const packed = Buffer.from(nearly.buffer).toString("base64");

test("a target whose headers, options or space changed is compared again", async () => {
  const { canary, requested, models } = setUpCanary([modelNamed("m", a, b)], {
    a: right,
    b: right,
  });
  await canary.check(false);
  expect(requested.splice(0)).toEqual(["a", "b"]);
  await canary.check(false);
  expect(requested).toEqual([]);
  const changed = (upstream: Partial<Target["upstream"]>): Target => ({
    ...b,
    upstream: { ...b.upstream, ...upstream },
  });
  const later = [
    modelNamed("m", a, changed({ headers: { "x-deployment": "new" } })),
    modelNamed("m", a, changed({ options: { pooling: "cls" } })),
    { ...modelNamed("m", a, b), space: "another" },
  ];
  for (const model of later) {
    models.splice(0, 1, model);
    await canary.check(false);
    expect(requested.splice(0)).toEqual(["a", "b"]);
  }
});

describe("a target that has not been checked yet", () => {
  const setUpUnchecked = (outcomes: Outcomes, graceMs = 1000) => {
    const model = modelNamed("m", a, b);
    let now = 0;
    let checksRequested = 0;
    const requestCheck = (): void => {
      checksRequested++;
    };
    const setup = setUpCanary([model], outcomes, {
      graceMs,
      clock: () => now,
      onUnchecked: requestCheck,
      onResponding: requestCheck,
    });
    const pass = (ms: number): void => {
      now += ms;
    };
    return { ...setup, model, pass, checksRequested: () => checksRequested };
  };

  test("gets no requests before its check passes, and one check is requested", async () => {
    const { canary, model, checksRequested } = setUpUnchecked({ a: right, b: packed });
    expect([canary.isExcluded(model, a), canary.isExcluded(model, b)]).toEqual([false, true]);
    expect(canary.isExcluded(model, b)).toBe(true);
    expect(checksRequested()).toBe(1);
    await canary.check(false);
    expect(canary.isExcluded(model, b)).toBe(false);
    // The same targets after a reload, and one new target.
    const more = modelNamed("m", a, b, c);
    expect([a, b, c].map((target) => canary.isExcluded(more, target))).toEqual([
      false,
      false,
      true,
    ]);
    expect(checksRequested()).toBe(2);
  });

  test("gets no requests if it turns out to have drifted", async () => {
    const { canary, model, pass } = setUpUnchecked({ a: right, b: wrong });
    await canary.check(false);
    pass(60_000);
    expect(canary.isExcluded(model, b)).toBe(true);
    expect(canary.hasDrifted(model, b)).toBe(true);
  });

  test("gets requests after the grace period if the first target does not respond", async () => {
    const { canary, model, pass } = setUpUnchecked({ a: new Error("down"), b: packed });
    expect(canary.isExcluded(model, b)).toBe(true);
    await canary.check(false);
    pass(1000);
    expect(canary.isExcluded(model, b)).toBe(false);
  });

  test("gets requests when the grace period that began with the check has passed, also after a reload", async () => {
    const { canary, model, pass } = setUpUnchecked({ a: new Error("down"), b: packed });
    await canary.check(false);
    pass(999);
    expect([canary.isComparing(), canary.isExcluded(model, b)]).toEqual([true, true]);
    pass(1);
    const reloaded = modelNamed("m", targetNamed("a"), targetNamed("b"));
    expect(canary.isComparing()).toBe(false);
    expect(canary.isExcluded(model, b)).toBe(false);
    expect(canary.isExcluded(reloaded, reloaded.targets[1]!)).toBe(false);
  });

  test("is checked as soon as the first target responds again", async () => {
    const { canary, model, outcomes, checksRequested } = setUpUnchecked({
      a: new Error("down"),
      b: wrong,
    });
    await canary.check(false);
    expect(canary.hasDrifted(model, b)).toBe(false);
    expect(checksRequested()).toBe(0);
    outcomes.a = right;
    expect(canary.hasDrifted(model, a)).toBe(false);
    expect(checksRequested()).toBe(1);
    await canary.check(false);
    expect(canary.hasDrifted(model, a)).toBe(false);
    expect(checksRequested()).toBe(1);
    expect(canary.hasDrifted(model, b)).toBe(true);
  });

  test("gets requests at once if the canary is off", () => {
    const { canary, model } = setUpUnchecked({ a: right, b: wrong }, 0);
    expect(canary.isExcluded(model, b)).toBe(false);
  });
});

describe("a drifted target", () => {
  test("is detected by its vector, reported with both names, and excluded", async () => {
    const model = modelNamed("m", a, b, c);
    const { canary, reports, summaries } = setUpCanary([model], { a: right, b: wrong, c: packed });
    await canary.check(false);
    expect(summaries()).toEqual(["b drifted"]);
    expect(reports[0]).toMatchObject({ model: "m", target: b });
    expect(reports[0]!.reason).toMatch(
      /differ from those of a: the cosine similarity for one text is -?0\.\d{4}/,
    );
    expect([a, b, c].map((target) => canary.hasDrifted(model, target))).toEqual([
      false,
      true,
      false,
    ]);
  });

  test("is detected by the length of its vectors", async () => {
    const model = modelNamed("m", a, b);
    const { canary, reports } = setUpCanary([model], { a: right, b: right.subarray(0, 32) });
    await canary.check(false);
    expect(reports[0]!.reason).toBe("its vectors have 32 dimensions, those of a 64");
    expect(canary.hasDrifted(model, b)).toBe(true);
  });

  test("is reported once, and once more when it is realigned", async () => {
    const model = modelNamed("m", a, b);
    const { canary, summaries, outcomes } = setUpCanary([model], { a: right, b: wrong });
    for (let round = 0; round < 3; round++) await canary.check(true);
    expect(summaries()).toEqual(["b drifted"]);
    outcomes.b = nearly;
    for (let round = 0; round < 3; round++) await canary.check(true);
    expect(summaries()).toEqual(["b drifted", "b realigned"]);
    expect(canary.hasDrifted(model, b)).toBe(false);
  });

  test("stays excluded while it does not respond", async () => {
    const model = modelNamed("m", a, b);
    const { canary, summaries, outcomes } = setUpCanary([model], { a: right, b: wrong });
    await canary.check(true);
    outcomes.b = new Error("down");
    await canary.check(true);
    expect(summaries()).toEqual(["b drifted", "b silent"]);
    expect(canary.hasDrifted(model, b)).toBe(true);
  });

  test("stays excluded after a reload, when it is the same target as a new object", async () => {
    const model = modelNamed("m", a, b);
    const { canary } = setUpCanary([model], { a: right, b: wrong });
    await canary.check(false);
    const again = modelNamed("m", targetNamed("a"), targetNamed("b"));
    expect(canary.hasDrifted(again, again.targets[1]!)).toBe(true);
  });

  test("is detected although a target of another model does not respond", async () => {
    const models = [modelNamed("first", a, c), modelNamed("second", a, b)];
    const { canary, summaries } = setUpCanary(models, { a: right, b: wrong, c: "nothing" });
    const checking = canary.check(false);
    await Bun.sleep(5);
    expect(summaries()).toEqual(["b drifted"]);
    await checking;
  });

  test("of one model may be the first target of another", async () => {
    const [one, other] = [modelNamed("one", a, b), modelNamed("other", b, c)];
    const { canary, summaries } = setUpCanary([one, other], { a: right, b: wrong, c: wrong });
    await canary.check(false);
    expect(summaries()).toEqual(["b drifted"]);
    expect(canary.hasDrifted(one, b)).toBe(true);
    expect([b, c].map((target) => canary.hasDrifted(other, target))).toEqual([false, false]);
  });
});

describe("the first target is the reference", () => {
  test("the first target never drifts, even if all other targets differ from it", async () => {
    const model = modelNamed("m", a, b, c);
    const { canary, summaries } = setUpCanary([model], { a: wrong, b: right, c: right });
    for (let round = 0; round < 2; round++) await canary.check(true);
    expect(summaries().sort()).toEqual(["b drifted", "c drifted"]);
    expect(canary.hasDrifted(model, a)).toBe(false);
  });

  test("a target that a reload puts first becomes the reference, and is checked soon", async () => {
    const { canary, summaries, models } = setUpCanary([modelNamed("m", a, b)], {
      a: right,
      b: wrong,
    });
    await canary.check(false);
    const turned = modelNamed("m", b, a);
    models[0] = turned;
    expect([a, b].map((target) => canary.hasDrifted(turned, target))).toEqual([false, false]);
    await canary.check(false);
    expect(summaries()).toEqual(["b drifted", "a drifted"]);
    expect([a, b].map((target) => canary.hasDrifted(turned, target))).toEqual([true, false]);
  });

  test.each<[string, Vector | Error | "nothing"]>([
    ["is down", new Error("down")],
    ["does not respond in time", "nothing"],
    ["responds with zeros", new Float32Array(64)],
    ["responds with NaN", right.map(() => Number.NaN)],
    ["responds without a vector", []],
    ["responds with invalid base64", "!"],
  ])("no target counts as drifted while the first target %s", async (_, outcome) => {
    const model = modelNamed("m", a, b);
    const { canary, summaries, outcomes } = setUpCanary([model], { a: outcome, b: right });
    for (let round = 0; round < 2; round++) await canary.check(false);
    // Reported once, although the probe is repeated.
    expect(summaries()).toEqual(["a silent"]);
    expect([a, b].map((target) => canary.hasDrifted(model, target))).toEqual([false, false]);
    outcomes.a = right;
    await canary.check(false);
    outcomes.a = outcome;
    await canary.check(true);
    expect(summaries()).toEqual(["a silent", "a silent"]);
  });
});

describe("the canary checks", () => {
  test("neither models with one target nor image models", async () => {
    const imageModel = { ...modelNamed("p", a, b), kind: "image" as const };
    const { canary, requested } = setUpCanary([modelNamed("m", a), imageModel], {
      a: right,
      b: right,
    });
    await canary.check(true);
    expect(requested).toEqual([]);
  });

  test("new and silent targets now, and checked targets in the next full round", async () => {
    const outcomes: Outcomes = { a: right, b: right, c: "nothing" };
    const { canary, requested, models } = setUpCanary([modelNamed("m", a, b)], outcomes);
    await canary.check(false);
    await canary.check(false);
    expect(requested).toEqual(["a", "b"]);
    models.push(modelNamed("n", b, c));
    await canary.check(false);
    await canary.check(false);
    expect(requested.slice(2)).toEqual(["b", "c", "b", "c"]);
    outcomes.c = right;
    await canary.check(false);
    await canary.check(false);
    expect(requested.slice(6)).toEqual(["b", "c"]);
    await canary.check(true);
    expect(requested.slice(8)).toEqual(["a", "b", "b", "c"]);
  });
});

test("a gateway that shuts down does not wait for silent targets, and does not report them", async () => {
  const { canary, reports, requested } = setUpCanary([modelNamed("m", a, b)], {
    a: "nothing",
    b: right,
  });
  const checking = canary.check(false);
  await until(() => requested.length === 1);
  canary.close();
  await Promise.race([checking, Bun.sleep(10).then(() => Promise.reject(new Error("it waits")))]);
  await canary.check(true);
  expect([reports, requested]).toEqual([[], ["a"]]);
});

test("similarity is the cosine of the directions, and -1 if vectors cannot be compared", () => {
  expect(cosineSimilarity(Float32Array.of(1, 0), Float32Array.of(5, 0))).toBe(1);
  expect(cosineSimilarity(Float32Array.of(1, 0), Float32Array.of(0, 2))).toBe(0);
  expect(cosineSimilarity(Float32Array.of(1, 0), Float32Array.of(-1, 0))).toBe(-1);
  expect(cosineSimilarity(Float32Array.of(1), Float32Array.of(1, 0))).toBe(-1);
  expect(cosineSimilarity(Float32Array.of(0, 0), Float32Array.of(1, 0))).toBe(-1);
});

describe("a gateway that has just started", () => {
  const setUpDetection = (models: Model[], hours = 24) => {
    let now = 5000;
    const waiting: ((vector: Vector) => void)[] = [];
    const detection = createDriftDetection({
      hours,
      snapshot: () => ({
        version: 1,
        upstreams: new Map(),
        models: new Map(models.map((model) => [model.id, model])),
        keys: noKeys,
      }),
      embed: () => new Promise((resolve) => waiting.push(resolve)),
      clearCache: () => undefined,
      clearLocal: async () => undefined,
      shared: undefined,
      log: createLog({
        level: "error",
        format: "json",
        write: () => undefined,
        now: () => new Date(0),
      }),
      emit: () => undefined,
      clock: () => now,
    });
    detection.start();
    const pass = (ms: number): void => {
      now += ms;
    };
    const respond = async (): Promise<void> => {
      await until(() => waiting.length > 0);
      for (const resolve of waiting.splice(0)) resolve(right);
    };
    return { detection, pass, respond, models };
  };

  test("is ready as soon as the targets are compared", async () => {
    const { detection, respond } = setUpDetection([modelNamed("m", a, b), modelNamed("n", c)]);
    expect(detection.isComparing()).toBe(true);
    await respond();
    expect(detection.isComparing()).toBe(true);
    await respond();
    await until(() => !detection.isComparing());
    detection.stop();
  });

  test("is ready after two seconds if a target does not respond", () => {
    const { detection, pass } = setUpDetection([modelNamed("m", a, b)]);
    pass(1999);
    expect(detection.isComparing()).toBe(true);
    pass(1);
    expect(detection.isComparing()).toBe(false);
    detection.stop();
  });

  test("stays ready after a reload that adds a target", () => {
    const { detection, pass, models } = setUpDetection([modelNamed("m", a)]);
    pass(2000);
    models[0] = modelNamed("m", a, b);
    expect(detection.isComparing()).toBe(false);
    expect(detection.isExcluded(models[0], b)).toBe(true);
    detection.stop();
  });

  test("is ready at once if there is nothing to compare, or if the canary is off", () => {
    for (const { detection } of [
      setUpDetection([modelNamed("m", a), { ...modelNamed("p", a, b), kind: "image" }]),
      setUpDetection([modelNamed("m", a, b)], 0),
    ]) {
      expect(detection.isComparing()).toBe(false);
      detection.stop();
    }
  });

  test("with a first target that is down serves each request that follows a ready /readyz", async () => {
    const healthy = startFake();
    const gateway = startGateway({
      settings: { VEXEL_CANARY_HOURS: "" },
      yaml: `
upstreams:
  - { id: down, kind: openai, baseUrl: "http://127.0.0.1:9", apiKey: sk-fake }
  - { id: healthy, kind: openai, baseUrl: "${healthy.url}", apiKey: sk-fake }
models:
  - { id: vectors, kind: embedding, targets: [{ upstream: down, model: custom-embedding-1 }, { upstream: healthy, model: custom-embedding-1 }] }
keys:
  - { name: test, key: ${testKey} }
`,
    });
    const isReady = async () => (await fetch(`${gateway.url}/readyz`)).status === 200;
    const send = () => gateway.post("/v1/embeddings", { model: "vectors", input: "a" });
    try {
      const early = await send();
      const used = healthy.requests.length;
      // A target that was not compared is not used, on a machine that was quick enough to ask in time.
      if (!(await isReady())) expect([early.status, used]).toEqual([502, 0]);
      await until(isReady);
      await expectVectors(await send(), ["a"]);
    } finally {
      await gateway.close();
      healthy.close();
    }
  });
});

test("a gateway detects drift by itself, logs it, and uses the other target only", async () => {
  const [referenceFake, driftedFake] = [startFake(), startFake()];
  const otherVectors = embeddingResponse(fakeVector("other weights", 1536));
  driftedFake.script(otherVectors, { times: Infinity });
  const gateway = startGateway({
    // An empty setting counts as unset: the canary runs at its default interval.
    settings: { VEXEL_CANARY_HOURS: "" },
    yaml: `
upstreams:
  - { id: reference, kind: openai, baseUrl: "${referenceFake.url}", apiKey: sk-fake }
  - { id: drifted, kind: openai, baseUrl: "${driftedFake.url}", apiKey: sk-fake }
models:
  - { id: vectors, kind: embedding, targets: [{ upstream: reference, model: custom-embedding-1 }, { upstream: drifted, model: custom-embedding-1 }] }
keys:
  - { name: test, key: ${testKey} }
`,
  });
  try {
    await until(() => gateway.log().includes("target-drifted"));
    const line = gateway
      .log()
      .split("\n")
      .find((one) => one.includes("target-drifted"));
    expect(JSON.parse(line!)).toMatchObject({
      level: "error",
      model: "vectors",
      upstream: "drifted",
    });
    expect(line).toContain("those of reference");
    driftedFake.clear();
    driftedFake.script(otherVectors, { times: Infinity });
    referenceFake.script({ fail: "overloaded" }, { times: 3 });
    const send = () => gateway.post("/v1/embeddings", { model: "vectors", input: "a" });
    // No vector is better than another model's vector.
    expect((await send()).status).toBe(503);
    await expectVectors(await send(), ["a"]);
    expect(driftedFake.requests).toHaveLength(0);
  } finally {
    await gateway.close();
    referenceFake.close();
    driftedFake.close();
  }
});
