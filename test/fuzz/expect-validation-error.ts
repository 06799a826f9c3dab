/**
 * The invariants of a validation error: it names a parameter of the sent body, and describes the value that was sent.
 * They are stated here without the code that makes the error.
 */
import { expect } from "bun:test";

export interface SentError {
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** Codes of errors that always name the parameter to change. */
const namesParameter = new Set([
  "invalid_type",
  "invalid_value",
  "unknown_parameter",
  "integer_below_min_value",
  "integer_above_max_value",
  "empty_string",
  "string_above_max_length",
  "empty_array",
  "array_above_max_length",
  "invalid_image_file",
]);

/** `body`: the JSON as the gateway parsed it. `error`: of the gateway itself, not of an upstream. */
export function expectValidationError(error: SentError, body: Readonly<Record<string, unknown>>) {
  const { code, message, param } = error;
  const values = new Map(valuesIn(body));
  if (code === "missing_required_parameter") {
    expect(param).toBeString();
    expect(message).toStartWith(`Missing required parameter: '${param}'.`);
    // An empty text and null count as missing.
    expect([undefined, null, ""]).toContain(values.get(String(param)) as undefined);
    return;
  }
  if (code === null || !namesParameter.has(code)) return;
  expect(param, message).toBeString();
  expect([...values.keys()]).toContain(String(param));
  const value = values.get(String(param));
  // The words of the schema library.
  expect(message).not.toMatch(/Invalid (?:input|option)\b/);
  if (code === "unknown_parameter") expect(message).toStartWith(`Unknown parameter: '${param}'`);
  if (code === "invalid_type") expectTypes(error, value);
  expectQuotedValue(error, value);
  expectRange(error, value);
}

/** The values of a body by their paths, such as `images[0].file_id`. A name may itself contain dots and brackets. */
function* valuesIn(value: unknown, path = ""): Generator<[path: string, value: unknown]> {
  if (path !== "") yield [path, value];
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    const step = Array.isArray(value) ? `[${name}]` : `${path && "."}${name}`;
    yield* valuesIn(inner, path + step);
  }
}

const typeNames: readonly (readonly [name: string, is: (value: unknown) => boolean])[] = [
  ["null", (value) => value === null],
  ["an array", Array.isArray],
  ["an integer", Number.isInteger],
  ["a decimal number", (value) => typeof value === "number"],
  ["a string", (value) => typeof value === "string"],
  ["a boolean", (value) => typeof value === "boolean"],
  ["an object", (value) => typeof value === "object"],
];
const typeOf = (value: unknown): string => typeNames.find(([, is]) => is(value))?.[0] ?? "unknown";

function expectTypes({ message, param }: SentError, value: unknown): void {
  const start = `Invalid type for '${param}': expected `;
  const end = `, but got ${typeOf(value)} instead.`;
  expect(message).toStartWith(start);
  expect(message).toEndWith(end);
  const wanted = message.slice(start.length, -end.length);
  expect(wanted).toMatch(/^(?:an? \w+)(?:,? or an? \w+|, an? \w+)*$/);
  // An integer is a number, so a number is expected of neither.
  const isWanted = wanted === typeOf(value) || (wanted === "a number" && typeof value === "number");
  expect(isWanted, message).toBe(false);
}

/** Such as "Invalid value: 'best'. Supported values are: 'low' and 'high'." */
function expectQuotedValue({ message }: SentError, value: unknown): void {
  const [, supported] =
    /^Invalid value: [\s\S]*\. Supported values are: ('.*')\.$/.exec(message) ?? [];
  if (supported === undefined) return;
  // A long text is cut.
  const quoted =
    typeof value === "string" ? `'${value.slice(0, 60)}` : `${typeOf(value)}. Supported`;
  expect(message).toStartWith(`Invalid value: ${quoted}`);
  expect(supported.split(/, (?:and )?| and /)).not.toContain(`'${String(value)}'`);
}

/** Such as "Invalid 'n': integer above maximum value. Expected a value <= 10, but got 11 instead." */
function expectRange({ code, message, param }: SentError, value: unknown): void {
  const [, type, side] =
    /^(integer|string|array|empty)_(below_min|above_max|string|array)/.exec(String(code)) ?? [];
  if (side === undefined) return;
  expect(message).toStartWith(`Invalid '${param}': `);
  const length = typeof value === "string" || Array.isArray(value) ? value.length : 0;
  if (type === "empty") {
    expect(length).toBe(0);
    return;
  }
  const [, limit, given] =
    / (?:>=|<=|length) (\S+), but got (?:an? \w+ with length )?(\S+) instead\.$/.exec(message) ??
    [];
  const size = type === "integer" ? Number(value) : length;
  expect(Number(given)).toBe(size);
  expect(Number(limit)).toBeFinite();
  expect(side).toBe(size < Number(limit) ? "below_min" : "above_max");
  expect(size).not.toBe(Number(limit));
}
