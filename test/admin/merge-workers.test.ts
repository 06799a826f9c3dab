/** Targets and statistics of several workers, as one gateway reports them. */
import { expect, test } from "bun:test";
import type { ShownTarget } from "../../contract/admin.ts";
import { mergeTargets } from "../../server/admin/reads/merge-workers.ts";

const targetOf = (more: Partial<ShownTarget>): ShownTarget => ({
  object: "target",
  upstream_kind: "openai",
  upstream: "openai",
  model: "m",
  surface: null,
  models: ["search"],
  state: "healthy",
  reason: null,
  until: null,
  in_flight: 1,
  limit: 16,
  latency: [],
  counts: { responses: 1 },
  last_errors: [],
  ...more,
});

test("the state of a target is the worst of all workers, and its counts are summed up", () => {
  const ejected = targetOf({ state: "ejected", reason: "5 failures in a row" });
  const merged = mergeTargets([targetOf({})], [[targetOf({})], [targetOf({})], [ejected]]);
  expect(merged).toEqual([
    expect.objectContaining({
      state: "ejected",
      reason: "5 failures in a row",
      in_flight: 4,
      limit: 64,
      counts: { responses: 4 },
    }),
  ]);
});
