/**
 * The error for a number, a text or a list that is out of its bounds, with the codes and words of OpenAI: programs
 * branch on the code, and read the bound from the message.
 *
 * As captured from OpenAI's API: github.com/thisisartium/continuous-alignment-testing/issues/25 (integers),
 * github.com/VectorlyApp/bluebox/issues/31 (texts), github.com/0x4m4/hexstrike-ai/issues/29 and
 * github.com/danny-avila/LibreChat/issues/10408 (lists). Decimals and empty texts have the same form.
 */
import { GatewayError } from "./gateway-error.ts";

export type Bound = { readonly minimum: number | bigint } | { readonly maximum: number | bigint };

/** What is measured: the value of a number, the length of a text, or the entries of a list. */
export type Measured = "integer" | "decimal" | "string" | "array";

export const rangeCodes = [
  "integer_below_min_value",
  "integer_above_max_value",
  "decimal_below_min_value",
  "decimal_above_max_value",
  "empty_string",
  "string_below_min_length",
  "string_above_max_length",
  "empty_array",
  "array_below_min_length",
  "array_above_max_length",
] as const;

export type RangeCode = (typeof rangeCodes)[number];

/** `given`: the value of the client. A number may be given as text, as in a query parameter. */
export function outOfRange(
  param: string,
  measured: Measured,
  bound: Bound,
  given: unknown,
): GatewayError {
  const { code, problem } =
    measured === "integer" || measured === "decimal"
      ? numberProblem(measured, bound, String(given))
      : lengthProblem(measured, bound, (given as { readonly length: number }).length);
  return new GatewayError("invalid_value", `Invalid '${param}': ${problem}`, {
    param,
    overrides: { code },
  });
}

interface Problem {
  readonly code: RangeCode;
  readonly problem: string;
}

const numberProblem = (type: "integer" | "decimal", bound: Bound, given: string): Problem =>
  "minimum" in bound
    ? {
        code: `${type}_below_min_value`,
        problem: `${type} below minimum value. Expected a value >= ${bound.minimum}, but got ${given} instead.`,
      }
    : {
        code: `${type}_above_max_value`,
        problem: `${type} above maximum value. Expected a value <= ${bound.maximum}, but got ${given} instead.`,
      };

function lengthProblem(type: "string" | "array", bound: Bound, length: number): Problem {
  const noun = type === "array" ? "an array" : "a string";
  if ("maximum" in bound) {
    return {
      code: `${type}_above_max_length`,
      problem: `${type} too long. Expected ${noun} with maximum length ${bound.maximum}, but got ${noun} with length ${length} instead.`,
    };
  }
  if (length === 0) {
    return {
      code: `empty_${type}`,
      problem: `empty ${type}. Expected ${noun} with minimum length ${bound.minimum}, but got an empty ${type} instead.`,
    };
  }
  return {
    code: `${type}_below_min_length`,
    problem: `${type} too short. Expected ${noun} with minimum length ${bound.minimum}, but got ${noun} with length ${length} instead.`,
  };
}
