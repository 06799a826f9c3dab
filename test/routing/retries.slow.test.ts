/** Transient errors: a request is retried, also on a model's only target, within the retry budget. */
import { afterEach, describe, expect, test } from "bun:test";
import type { ErrorKind } from "../../contract/errors.ts";
import { scaled } from "../depth.ts";
import { modelWithTargets, targetNamed } from "../embeddings/stage-fixture.ts";
import { expectVectors } from "../faults/faults-fixture.ts";
import {
  RoutingSimulation,
  type RoutingSimulationOptions,
  type TargetBehavior,
} from "../fuzz/routing-simulation.ts";
import { arrange, closeSetups } from "./routing-gateway-fixture.ts";

afterEach(closeSetups);

const [a, b] = [targetNamed("a"), targetNamed("b")];
const well: TargetBehavior = { kind: "well", ms: 10 };
const failing = (errorKind: ErrorKind, share = 1): TargetBehavior => ({
  kind: "fails",
  share,
  ms: 5,
  errorKind,
});
const seeds = Array.from({ length: Math.max(3, scaled(7)) }, (_, at) => at + 1);

/** One request to targets that show these behaviors in order, and are healthy after that. */
async function oneRequest(
  behaviors: readonly TargetBehavior[],
  more: Partial<RoutingSimulationOptions> = {},
) {
  const left = [...behaviors];
  const behaviorOf = () => left.shift() ?? well;
  const simulation = new RoutingSimulation({
    seed: 1,
    model: modelWithTargets(a),
    behaviorOf,
    ...more,
  });
  simulation.sendRequest();
  await simulation.time.run();
  expect(simulation.outcomes).toHaveLength(1);
  expect(simulation.outcomes[0]!.request.client.listeners.size).toBe(0);
  for (const { inFlight } of simulation.targets) expect(inFlight).toBe(0);
  return {
    simulation,
    outcome: simulation.outcomes[0]!,
    attempts: simulation.attempts.map(({ target }) => target),
  };
}

const pausesOf = ({ attempts }: RoutingSimulation): number[] =>
  attempts.slice(1).map(({ at }, before) => at - attempts[before]!.at);

describe("the only target of a model", () => {
  test.each<ErrorKind>([
    "upstream_error",
    "upstream_overloaded",
    "upstream_unreachable",
    "upstream_timeout",
  ])("that fails once or twice is retried, and the request succeeds: %s", async (errorKind) => {
    for (const times of [1, 2]) {
      const { outcome, attempts } = await oneRequest(Array(times).fill(failing(errorKind)));
      expect(outcome.errorKind).toBeUndefined();
      expect(attempts).toHaveLength(times + 1);
      expect(outcome.request.record.routing.attempts).toBe(times + 1);
    }
  });

  test("gets at most three attempts of one request", async () => {
    const { outcome, attempts } = await oneRequest(Array(9).fill(failing("upstream_error")));
    expect(outcome.errorKind).toBe("upstream_error");
    expect(attempts).toHaveLength(3);
  });

  test.each<ErrorKind>([
    "upstream_rejected",
    "context_length_exceeded",
    "upstream_invalid",
    "upstream_credentials",
    "insufficient_quota",
    "model_not_found",
    "upstream_rate_limit",
  ])("is not retried after an error that would repeat: %s", async (errorKind) => {
    const { outcome, attempts } = await oneRequest([failing(errorKind)]);
    expect(outcome.errorKind).toBe(errorKind);
    expect(attempts).toHaveLength(1);
  });

  test("is retried after a random backoff that doubles for the second retry", async () => {
    const [first, second] = [new Set<number>(), new Set<number>()];
    for (const seed of seeds) {
      const { simulation } = await oneRequest(Array(2).fill(failing("upstream_error")), { seed });
      const [one, two] = pausesOf(simulation) as [number, number];
      // Includes the five milliseconds that a failure takes, with 50 % jitter.
      expect(one).toBeWithin(52.5, 257.5);
      expect(two).toBeWithin(102.5, 507.5);
      first.add(one);
      second.add(two);
    }
    expect(first.size).toBe(seeds.length);
    expect(second.size).toBe(seeds.length);
  });

  test("that sends retry-after is retried after that time if it is short", async () => {
    const { simulation, outcome } = await oneRequest([{ kind: "limited", retryAfterMs: 400 }]);
    expect(outcome.errorKind).toBeUndefined();
    expect(pausesOf(simulation)[0]).toBeWithin(450, 660);
    const later = await oneRequest([{ kind: "limited", retryAfterMs: 501 }]);
    expect(later.outcome).toMatchObject({ errorKind: "upstream_rate_limit", retryAfterMs: 501 });
    expect(later.attempts).toHaveLength(1);
  });

  test("is not retried after the request timeout", async () => {
    const { outcome, attempts } = await oneRequest([failing("upstream_error")], { deadlineMs: 50 });
    expect(outcome.errorKind).toBe("upstream_timeout");
    expect(outcome.endedAt).toBe(50);
    expect(attempts).toHaveLength(1);
  });

  test("that fails for one input is not ejected because of its retries", async () => {
    const bad: TargetBehavior = failing("upstream_error");
    const simulation = new RoutingSimulation({
      seed: 1,
      model: modelWithTargets(a),
      behaviorOf: () => bad,
    });
    for (let request = 0; request < 4; request++)
      simulation.time.start(request * 2000, () => simulation.sendRequest());
    await simulation.time.run();
    expect(simulation.attempts).toHaveLength(12);
    expect(simulation.changes).toEqual([]);
  });

  test("that is ejected is not retried: its failed requests end immediately", async () => {
    const simulation = new RoutingSimulation({
      seed: 1,
      model: modelWithTargets(a),
      behaviorOf: () => failing("upstream_error"),
    });
    for (let request = 0; request < 20; request++)
      simulation.time.start(0, () => simulation.sendRequest());
    await simulation.time.run();
    // All of them were in flight when the fifth failed.
    expect(simulation.attempts).toHaveLength(20);
    for (const { endedAt } of simulation.outcomes) expect(endedAt).toBeLessThan(600);
  });

  test("that fails one request in twenty fails less than one in a hundred for clients", async () => {
    for (const seed of seeds) {
      const behavior = failing("upstream_error", 0.05);
      const simulation = new RoutingSimulation({
        seed,
        model: modelWithTargets(a),
        behaviorOf: () => behavior,
      });
      simulation.steady(0, 10_000, 60);
      await simulation.time.run();
      const failed = simulation.outcomes.filter(({ errorKind }) => errorKind !== undefined);
      expect(failed.length / simulation.requestCount, `seed ${seed}`).toBeLessThan(0.01);
    }
  });
});

describe("with several targets", () => {
  test("each target is tried before any target is retried", async () => {
    const { outcome, attempts } = await oneRequest(Array(3).fill(failing("upstream_error")), {
      model: modelWithTargets(a, b),
    });
    expect(outcome.errorKind).toBeUndefined();
    expect(attempts).toHaveLength(4);
    expect(new Set(attempts.slice(0, 2)).size).toBe(2);
  });
});

describe("whatever the traffic and the failures", () => {
  test.each([1, 2])(
    "retries stay within a fifth of the requests plus the reserve: %d targets",
    async (count) => {
      const targets = [a, b].slice(0, count);
      for (const seed of seeds) {
        const share = 0.3 + 0.6 * (seed / seeds.length);
        const simulation = new RoutingSimulation({
          seed,
          model: modelWithTargets(...targets),
          // It rarely fails at first, so that occasional failures do not eject it.
          behaviorOf: (_, now) => failing("upstream_overloaded", now < 1000 ? 0.15 : share),
        });
        simulation.steady(0, 8000, 150);
        await simulation.time.run();
        const refused = simulation.outcomes.filter(
          ({ errorKind }) => errorKind === "no_healthy_target",
        ).length;
        const extra = simulation.attempts.length - (simulation.requestCount - refused);
        expect(extra, `seed ${seed}`).toBeLessThanOrEqual(0.2 * simulation.requestCount + 50 * 4);
      }
    },
  );
});

describe("image requests", () => {
  const more = { operation: "generations" } as const;

  test("that may have been billed are not retried, unless the model sets retryPaid", async () => {
    const errorKinds: ErrorKind[] = ["upstream_error", "upstream_unreachable", "upstream_timeout"];
    for (const errorKind of errorKinds) {
      const { outcome, attempts } = await oneRequest([failing(errorKind)], more);
      expect(outcome.errorKind).toBe(errorKind);
      expect(attempts).toHaveLength(1);
      const model = { ...modelWithTargets(a), retryPaid: true as const };
      expect((await oneRequest([failing(errorKind)], { ...more, model })).attempts).toHaveLength(2);
    }
  });

  test("that cannot have been billed are retried", async () => {
    for (const behavior of [failing("upstream_overloaded"), { kind: "gone" } as const]) {
      const { outcome, attempts } = await oneRequest([behavior], more);
      expect(outcome.errorKind).toBeUndefined();
      expect(attempts).toHaveLength(2);
    }
  });
});

describe("through a gateway", () => {
  test.each([
    ["resets the connection", { reset: "mid-headers" }, "upstream_unreachable"],
    ["returns a server error", { fail: "server-error" }, "upstream_error"],
    ["is overloaded", { fail: "overloaded" }, "upstream_overloaded"],
    ["sends a short retry-after", { fail: "rate-limit", retryAfterMs: 50 }, "upstream_rate_limit"],
  ] as const)("a single upstream that %s once fails no request", async (_, fault, errorKind) => {
    const { gateway, fakes, embed } = arrange({ upstreams: 1 });
    // As the first request, and after requests that succeeded.
    for (const before of [0, 12]) {
      for (let request = 0; request < before; request++) await expectVectors(await embed());
      fakes[0]!.clear();
      fakes[0]!.script(fault);
      await expectVectors(await embed());
      expect(fakes[0]!.requests).toHaveLength(2);
      expect(gateway.rows().at(-1)).toMatchObject({
        status: 200,
        error: null,
        attempts: 2,
        steps: `u0/text-embedding-3-small: ${errorKind}`,
      });
    }
  });

  test("the requests of one batch are all served after a connection reset", async () => {
    const { fakes, gateway } = arrange({ upstreams: 1 });
    fakes[0]!.script({ reset: "before-headers" }, { times: 2 });
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        gateway.post("/v1/embeddings", { model: "vectors", input: [`text ${at}`] }),
      ),
    );
    for (const [at, response] of responses.entries()) {
      await expectVectors(response, [`text ${at}`]);
    }
  });
});
