/** Why the page of a request says that a target, or none, was selected. */
import { expect, test } from "bun:test";
import { en } from "../../console/i18n/en.ts";
import { translator } from "../../console/i18n/messages.ts";
import { selectionReason } from "../../console/pages/requests/selection-reason.ts";

const served = { candidates: 3, policy: "cost", attempts: 1, error: null, cached_inputs: 0 };
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
  expect(reasonOf(served)).toBe("It is the cheapest of 3 targets.");
  expect(reasonOf({ ...served, candidates: 1 })).toContain("only target");
});
