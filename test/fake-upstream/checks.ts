/** The field checks of OpenAI's newer validator, as used by the image endpoints. */

import { invalid, wrongType } from "./refusal.ts";

export type Check = (value: unknown, field: string) => void;

const named = (value: unknown): string => {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a decimal number";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
};

const listed = (values: readonly string[]): string => {
  const quoted = values.map((value) => `'${value}'`);
  const last = quoted.pop();
  if (quoted.length === 0) return `Value must be ${last}`;
  return quoted.length === 1
    ? `Supported values are: ${quoted[0]} and ${last}`
    : `Supported values are: ${quoted.join(", ")}, and ${last}`;
};

export const notOneOf = (value: string, values: readonly string[], field: string) =>
  invalid(`Invalid value: '${value}'. ${listed(values)}.`, "invalid_value", field);

export const oneOf =
  (values: readonly string[]): Check =>
  (value, field) => {
    if (typeof value !== "string") throw wrongType(field, "a string", named(value));
    if (!values.includes(value)) throw notOneOf(value, values, field);
  };

export const integer =
  (least: number, most: number): Check =>
  (value, field) => {
    if (typeof value !== "number" || !Number.isInteger(value))
      throw wrongType(field, "an integer", named(value));
    const bound = value > most ? "above maximum" : value < least ? "below minimum" : undefined;
    if (bound)
      throw invalid(
        `Invalid '${field}': integer ${bound} value. Expected a value ${value > most ? `<= ${most}` : `>= ${least}`}, but got ${value} instead.`,
        value > most ? "integer_above_max_value" : "integer_below_min_value",
        field,
      );
  };

export const flag: Check = (value, field) => {
  if (typeof value !== "boolean") throw wrongType(field, "a boolean", named(value));
};

export const text: Check = (value, field) => {
  if (typeof value !== "string") throw wrongType(field, "a string", named(value));
};

/** The message for GPT image models is from memory; dall-e has its own message. */
export const prompt =
  (most: number): Check =>
  (value, field) => {
    text(value, field);
    const { length } = String(value);
    if (length > most)
      throw most > 4000
        ? invalid(
            `Invalid '${field}': string too long. Expected a string with maximum length ${most}, but got a string with length ${length} instead.`,
            "string_above_max_length",
            field,
          )
        : invalid(
            `Prompt must be length ${most} or less. Your prompt length is ${length}. Please reduce your prompt length.`,
          );
  };
