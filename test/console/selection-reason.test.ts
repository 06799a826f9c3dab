/** Why the page of a request says that a target, or none, was selected. */
import { expect, test } from "bun:test";
import {
  noAttemptReason,
  selectionReason,
} from "../../console/src/features/requests/selection-reason.ts";
import { en } from "../../console/src/i18n/en.ts";
import { translator } from "../../console/src/i18n/messages.ts";
import { selectionReasons } from "../../contract/admin.ts";

const t = translator(en, "en");
const served = { candidates: 3, tier: null, is_later_tier: false, failed: null } as const;

test("a replayed image response is not said to come from the embedding cache", () => {
  expect(noAttemptReason({ error: null, attempts: 0, cached_inputs: null }, t)).toBe(
    "No target was called: the response of an earlier request was replayed.",
  );
});

test("a request without a target is said to be cached, or to have ended before with its error", () => {
  const unsent = { error: null, attempts: 0, cached_inputs: 2 };
  expect(noAttemptReason(unsent, t)).toContain("every input was cached");
  expect(noAttemptReason({ ...unsent, error: "rate_limited" }, t)).toBe(
    "The request ended before a target was selected (rate_limited).",
  );
});

test("every reason of the router has a sentence of its own", () => {
  const sentences = selectionReasons.map((by) => selectionReason({ ...served, by }, t));
  expect(new Set(sentences).size).toBe(selectionReasons.length);
  expect(sentences.join()).not.toMatch(/[{}]/);
});

test("a failover names the target and the error before it, and the tier says why it is a later one", () => {
  const failed = { target: "openai/small", error: "upstream_rate_limit" };
  expect(
    selectionReason({ ...served, by: "failover", failed, tier: 1, is_later_tier: true }, t),
  ).toBe(
    "Failover: openai/small failed (upstream_rate_limit). Tier 1: no target in an earlier tier was available.",
  );
  expect(selectionReason({ ...served, by: "only", tier: 0 }, t)).toBe(
    "This was the only available target in tier 0, the first tier.",
  );
});
