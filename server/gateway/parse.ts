/** Step 4: a schema's complaint becomes the fault OpenAI would give, naming the field and the fix. */
import type { z } from "zod";
import { GatewayError } from "../std/gateway-error.ts";

/** Fields whose complaints OpenAI words in a way of its own. */
export type OwnWords = Readonly<Record<string, (given: unknown) => GatewayError>>;

export function parse<S extends z.ZodType>(
  schema: S,
  value: Readonly<Record<string, unknown>>,
  ownWords: OwnWords = {},
): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0] as Issue;
  const field = String(issue.path[0] ?? "");
  throw ownWords[field]?.(value[field]) ?? explain(issue, value);
}

type Issue = z.core.$ZodIssue;

function explain(issue: Issue, root: unknown): GatewayError {
  const param = spell(issue.path);
  const given = at(root, issue.path);
  if (given === undefined) {
    return new GatewayError("missing_parameter", `Missing required parameter: '${param}'.`, {
      param,
    });
  }
  switch (issue.code) {
    case "invalid_type":
      return new GatewayError(
        "invalid_type",
        `Invalid type for '${param}': expected ${article(expected(issue.expected))}, but got ${nameOf(given)} instead.`,
        { param },
      );
    case "invalid_value":
      return new GatewayError(
        "invalid_value",
        `Invalid value: ${quote(given)}. Supported values are: ${issue.values.map((value) => `'${String(value)}'`).join(", ")}.`,
        { param },
      );
    case "too_small":
      return new GatewayError(
        "invalid_value",
        `Invalid '${param}': ${size(issue.origin)} below minimum. Expected at least ${issue.minimum}, but got ${measure(given)}.`,
        { param },
      );
    case "too_big":
      return new GatewayError(
        "invalid_value",
        `Invalid '${param}': ${size(issue.origin)} above maximum. Expected at most ${issue.maximum}, but got ${measure(given)}.`,
        { param },
      );
    case "unrecognized_keys":
      return new GatewayError(
        "unknown_parameter",
        `Unknown parameter: '${[param, ...issue.keys.slice(0, 1)].filter(Boolean).join(".")}'.`,
        { param: [param, ...issue.keys.slice(0, 1)].filter(Boolean).join(".") },
      );
    default:
      return new GatewayError("invalid_value", `Invalid '${param}': ${issue.message}`, { param });
  }
}

export const spell = (path: readonly PropertyKey[]): string =>
  path
    .map((step, at) => (typeof step === "number" ? `[${step}]` : `${at ? "." : ""}${String(step)}`))
    .join("");

const at = (root: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, step) =>
      typeof value === "object" && value !== null
        ? (value as Record<PropertyKey, unknown>)[step]
        : undefined,
    root,
  );

const expected = (type: string): string => ({ int: "integer", record: "object" })[type] ?? type;
const article = (noun: string): string => `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;

export function nameOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a number";
  return article(typeof value);
}

const quote = (value: unknown): string =>
  typeof value === "string" ? `'${value.slice(0, 60)}'` : nameOf(value);
const size = (origin: string): string =>
  ({ string: "length", array: "number of entries", int: "integer", number: "number" })[origin] ??
  "value";
const measure = (value: unknown): string | number =>
  typeof value === "string" || Array.isArray(value) ? value.length : String(value);
