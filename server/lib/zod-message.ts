/** Describes how a value violates a schema, for users: "must be at most 65535" instead of Zod's own text. */
import type { z } from "zod";

export function describeConstraint(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "too_small":
      if (issue.origin === "string" && issue.minimum === 1) return "must not be empty";
      if (issue.origin === "array") return "must have at least one entry";
      return `must ${verbOf(issue.origin)} at least ${issue.minimum}${unitOf(issue.origin)}`;
    case "too_big":
      return `must ${verbOf(issue.origin)} at most ${issue.maximum}${unitOf(issue.origin)}`;
    case "invalid_value":
      return `must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.join(", ")}`;
    default:
      return issue.message;
  }
}

const units: Readonly<Record<string, string>> = { string: " characters", array: " entries" };
const unitOf = (origin: string): string => units[origin] ?? "";
const verbOf = (origin: string): string => (unitOf(origin) === "" ? "be" : "have");
