/**
 * The validation error of a body that does not match its schema: the first issue becomes the error that OpenAI would
 * give, with the parameter and the fix.
 */
import { z } from "zod";
import { GatewayError } from "../lib/gateway-error.ts";
import { type Bound, type Measured, outOfRange } from "../lib/out-of-range.ts";
import { quotedList } from "../lib/quoted-list.ts";

/**
 * Refuses a value in a transform of a schema. `error`: the GatewayError that the client gets. Any other error is
 * thrown.
 */
export function refused(context: z.RefinementCtx, error: unknown): never {
  if (!(error instanceof GatewayError)) throw error;
  context.issues.push({ code: "custom", input: context.value, params: { error } });
  return z.NEVER;
}

/** `root`: the value that was validated. */
export function validationError(error: z.ZodError, root: unknown, schema: z.ZodType): GatewayError {
  const issue = error.issues[0] as z.core.$ZodIssue;
  if (issue.code === "custom" && issue.params?.error instanceof GatewayError) {
    return issue.params.error;
  }
  const param = formatPath(issue.path);
  const given = at(root, issue.path);
  if (given === undefined) {
    return new GatewayError("missing_parameter", `Missing required parameter: '${param}'.`, {
      param,
    });
  }
  switch (issue.code) {
    case "invalid_type":
      return invalidType(param, expected(issue, schema), given);
    case "invalid_value":
      return unsupportedValue(param, issue.values, given);
    case "too_small":
      return outOfBounds(issue, schema, { minimum: issue.minimum }, given);
    case "too_big":
      return outOfBounds(issue, schema, { maximum: issue.maximum }, given);
    case "unrecognized_keys":
      return unknownParameter([param, issue.keys[0]].filter(Boolean).join("."));
    default:
      return new GatewayError("invalid_value", `Invalid '${param}': ${issue.message}`, { param });
  }
}

const unknownParameter = (param: string): GatewayError =>
  new GatewayError("unknown_parameter", `Unknown parameter: '${param}'.`, { param });

const invalidType = (param: string, expected: string, given: unknown): GatewayError =>
  new GatewayError(
    "invalid_type",
    `Invalid type for '${param}': expected ${article(expected)}, but got ${describeType(given)} instead.`,
    { param },
  );

const unsupportedValue = (
  param: string,
  values: readonly unknown[],
  given: unknown,
): GatewayError =>
  new GatewayError(
    "invalid_value",
    `Invalid value: ${quote(given)}. Supported values are: ${quotedList(values.map(String))}.`,
    { param },
  );

function outOfBounds(
  { origin, path }: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig,
  schema: z.ZodType,
  bound: Bound,
  given: unknown,
): GatewayError {
  return outOfRange(formatPath(path), measuredOf(origin, schema, path), bound, given);
}

function measuredOf(origin: string, schema: z.ZodType, path: readonly PropertyKey[]): Measured {
  if (origin === "string" || origin === "array") return origin;
  return isIntegerField(schema, path) ? "integer" : "decimal";
}

const formatPath = (path: readonly PropertyKey[]): string =>
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

function expected(
  { expected: type, path }: z.core.$ZodIssueInvalidType,
  schema: z.ZodType,
): string {
  // For an integer field, zod reports the type `number` if the value is not a number at all.
  if (type === "number" && isIntegerField(schema, path)) return "integer";
  return { int: "integer", record: "object" }[type as string] ?? type;
}

function isIntegerField(schema: z.ZodType, path: readonly PropertyKey[]): boolean {
  const field = path.reduce(memberOf, unwrapped(schema));
  return field instanceof z.ZodNumber && field.isInt;
}

function memberOf(outer: unknown, step: PropertyKey): unknown {
  if (outer instanceof z.ZodObject) return unwrapped(outer.shape[step as string]);
  return outer instanceof z.ZodArray ? unwrapped(outer.element) : undefined;
}

/** The schema of the value itself, of a field that may be absent or is converted before its check. */
function unwrapped(field: unknown): unknown {
  if (
    field instanceof z.ZodOptional ||
    field instanceof z.ZodDefault ||
    field instanceof z.ZodNullable
  )
    return unwrapped(field.unwrap());
  return field instanceof z.ZodPipe ? unwrapped(field.out) : field;
}

const article = (noun: string): string => `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;

export function describeType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a decimal number";
  return article(typeof value);
}

const quote = (value: unknown): string =>
  typeof value === "string" ? `'${value.slice(0, 60)}'` : describeType(value);
