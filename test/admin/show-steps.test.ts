/** The steps of a request in the admin API: texts with an id, so that the console translates them. */
import { expect, test } from "bun:test";
import { showStep } from "../../server/admin/reads/show-steps.ts";
import { textOf } from "../laws/tree.ts";

/** The steps of the tables of docs/observability.md, with values in place of the names in capitals. */
const documented = (): string[] =>
  ["### Steps of an image request", "### Routing steps"].flatMap((heading) => {
    const [, section = ""] = textOf("docs/observability.md").split(`${heading}\n`);
    const [table = ""] = section.split(/\n#+ /);
    return [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, step = ""]) =>
      step
        .replace("TARGET", "openai/gpt-image-2 (responses)")
        .replace("REASON", "its rate limit is reached")
        .replace("ERROR", "upstream_error")
        .replace("PARAMETER", "size")
        .replace("REQUEST", "req_1"),
    );
  });

test("every documented step has an id, and its text and values", () => {
  const steps = documented();
  expect(steps.length).toBeGreaterThan(15);
  for (const step of steps) {
    const { text, i18n } = showStep(step);
    expect([step, i18n?.id]).toEqual([step, expect.stringMatching(/^step_/)]);
    expect([step, text]).not.toEqual([step, expect.stringMatching(/[{}]|undefined/)]);
    if (step.startsWith("openai/"))
      expect(i18n?.values.target).toBe("openai/gpt-image-2 (responses)");
  }
});

test("the reason of a skipped target, and what a target failed to generate, are values", () => {
  expect(showStep("a/b: skipped, 5 failures in a row, the last: upstream_error")).toEqual({
    text: "a/b was skipped: 5 failures in a row, the last: upstream_error.",
    i18n: { id: "step_failing", values: { target: "a/b", count: "5", error: "upstream_error" } },
  });
  expect(showStep("a/b: upstream_error for 1 of 4, may have been billed").i18n).toEqual({
    id: "step_images_billed",
    values: { target: "a/b", error: "upstream_error", count: "1", requested: "4" },
  });
});

test("a step without a format is shown as it is stored", () => {
  expect(showStep("a new step")).toEqual({ text: "a new step" });
});
