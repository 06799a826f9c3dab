/** Why the page of a request says that a target, or none, was selected. */
import { expect, test } from "bun:test";
import { selectionReason } from "../../console/src/features/requests/selection-reason.ts";
import { en } from "../../console/src/i18n/en.ts";
import { translator } from "../../console/src/i18n/messages.ts";

const served = {
  candidates: 3,
  policy: "cost",
  tier: null,
  attempts: 1,
  error: null,
  cached_inputs: 0,
  timeline: [],
  upstream: "vllm",
  target_model: "bge-m3",
};
const withoutTarget = { ...served, candidates: null, policy: null, attempts: 0 };
const reasonOf = (request: Parameters<typeof selectionReason>[0]): string =>
  selectionReason(request, translator(en));

test("a replayed image response is not said to come from the embedding cache", () => {
  expect(reasonOf({ ...withoutTarget, cached_inputs: null })).toBe(
    "No target was selected: the response of an earlier request was replayed.",
  );
});

test("a request without a target is said to be cached, or refused before the selection", () => {
  expect(reasonOf({ ...withoutTarget, cached_inputs: 2 })).toContain("every input was cached");
  expect(reasonOf({ ...withoutTarget, error: "rate_limited" })).toContain("ended before");
});

test("the policy that selected one of several targets is named", () => {
  expect(reasonOf(served)).toBe(
    "It has the lowest known price of 3 targets; among equal prices, the load decides.",
  );
  expect(reasonOf({ ...served, candidates: 1 })).toBe("There was no other target to choose from.");
});

test("a probe, a selection without a healthy target and the tier are named", () => {
  expect(reasonOf({ ...served, policy: "probe" })).toContain("whether it has recovered");
  expect(reasonOf({ ...served, policy: "unhealthy", candidates: 1 })).toContain(
    "No target was healthy",
  );
  expect(reasonOf({ ...served, candidates: 1, tier: 1 })).toBe(
    "There was no other target to choose from. It is in tier 1.",
  );
});

test("a failover without its failed attempt in the timeline, and a hedge, are named", () => {
  expect(reasonOf({ ...served, policy: "failover", candidates: 1 })).toBe(
    "An earlier attempt of this request failed.",
  );
  expect(reasonOf({ ...served, policy: "hedge", candidates: 1 })).toContain("was slow");
});
