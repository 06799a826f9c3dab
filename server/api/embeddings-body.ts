/**
 * The body of an embeddings request: the schema for the OpenAPI document, and the validator that parses every request.
 * The validator is written by hand: it makes one pass and stops at the first problem, where a schema would try each
 * alternative on the whole of a long list. A test compares it with the schema.
 */
import { z } from "zod";
import { describeType, invalidType, outOfRange, unsupportedValue } from "../http/validate-body.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { EmbeddingInput, EmbeddingsQuery, ExtraFields } from "../upstream/contract.ts";
import { parseTaskType, type TaskType, taskTypeFields } from "../upstream/task-type.ts";
import { maxTextLength } from "./max-text-length.ts";

const token = z.int().min(0);
const text = z.string().min(1).max(maxTextLength);
const input = z
  .union([text, z.array(text).min(1), z.array(token).min(1), z.array(z.array(token).min(1)).min(1)])
  .describe("A string, an array of strings, an array of tokens, or an array of token arrays.");

const encodings = ["float", "base64"] as const;

export const embeddingsBody = z.looseObject({
  model: z
    .string()
    .min(1)
    .optional()
    .describe("The public ID of an embedding model. Default: the default model of the API key."),
  input,
  encoding_format: z.enum(encodings).optional().describe("Default: float."),
  dimensions: z
    .int()
    .min(1)
    .optional()
    .describe("The length of the vectors, if the model supports it."),
  user: z.string().optional(),
});

/** The older route has the model in its path. */
export const engineEmbeddingsBody = embeddingsBody.omit({ model: true });

const knownFields: ReadonlySet<string> = new Set(Object.keys(embeddingsBody.shape));
const noExtraFields: ExtraFields = Object.freeze({});

/** `body` has no null members. The calling function refuses a missing model. */
export function readEmbeddingsBody(
  body: Readonly<Record<string, unknown>>,
  maxInputs: number,
): EmbeddingsQuery {
  const { model, encoding_format: encoding = "float", dimensions, user } = body;
  if (typeof model !== "string") throw invalidType("model", "string", model);
  const parsed = readInput(body.input, maxInputs);
  if (encoding !== "float" && encoding !== "base64") {
    throw unsupportedValue("encoding_format", encodings, encoding);
  }
  if (dimensions !== undefined) checkDimensions(dimensions);
  if (user !== undefined && typeof user !== "string") throw invalidType("user", "string", user);
  const query: EmbeddingsQuery = {
    model,
    input: parsed.input,
    single: parsed.single,
    encoding,
    extraFields: noExtraFields,
  };
  if (dimensions === undefined && user === undefined && !hasExtraFields(body)) return query;
  return {
    ...query,
    ...(dimensions !== undefined && { dimensions: dimensions as number }),
    ...(user !== undefined && { user }),
    ...extractTaskType(extraFields(body)),
  };
}

function hasExtraFields(body: Readonly<Record<string, unknown>>): boolean {
  for (const name in body) if (!knownFields.has(name)) return true;
  return false;
}

const extraFields = (body: Readonly<Record<string, unknown>>): ExtraFields =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !knownFields.has(name)));

function checkDimensions(given: unknown): void {
  if (typeof given !== "number" || (Number.isFinite(given) && !Number.isInteger(given))) {
    throw invalidType("dimensions", "integer", given);
  }
  if (given < 1) throw outOfRange("dimensions", "integer", { minimum: 1 }, given);
  if (given > Number.MAX_SAFE_INTEGER) {
    throw outOfRange("dimensions", "integer", { maximum: Number.MAX_SAFE_INTEGER }, given);
  }
}

interface ParsedInput {
  readonly input: EmbeddingInput;
  /** A single input, not an array of inputs. */
  readonly single: boolean;
}

/** Checks the number of inputs first, then each entry once, up to the first invalid one. */
function readInput(given: unknown, maxInputs: number): ParsedInput {
  if (typeof given === "string") {
    if (given === "") throw invalidInput("It is an empty string.");
    if (given.length > maxTextLength) throw invalidInput(`It ${tooLong(given)}`);
    return { input: { kind: "text", texts: [given] }, single: true };
  }
  if (given === undefined) {
    throw invalidInput("It is missing: send a string or an array of strings.");
  }
  if (!Array.isArray(given)) {
    throw invalidInput(`It must be a string or an array, not ${describeType(given)}.`);
  }
  const list: readonly unknown[] = given;
  if (list.length === 0) throw invalidInput("It is an empty array.");
  if (typeof list[0] === "number") {
    const wrong = firstInvalidToken(list);
    if (wrong >= 0) throw invalidInput(`Entry ${wrong} is not a token (an integer from 0).`);
    return { input: { kind: "tokens", tokens: [list as number[]] }, single: true };
  }
  if (list.length > maxInputs) {
    throw invalidInput(
      `It has ${list.length} entries; at most ${maxInputs} entries may be sent in one request.`,
    );
  }
  if (typeof list[0] === "string") {
    checkTexts(list);
    return { input: { kind: "text", texts: list as string[] }, single: false };
  }
  checkTokenArrays(list);
  return { input: { kind: "tokens", tokens: list as number[][] }, single: false };
}

const tooLong = (text: string): string =>
  `has ${text.length} characters; a text may have at most ${maxTextLength}. Split it into several inputs.`;

function checkTexts(list: readonly unknown[]): void {
  for (let index = 0; index < list.length; index++) {
    const entry = list[index];
    if (typeof entry !== "string") {
      throw invalidInput(`Entry ${index} is ${describeType(entry)}, while the first is a string.`);
    }
    if (entry === "") throw invalidInput(`Entry ${index} is an empty string.`);
    if (entry.length > maxTextLength) throw invalidInput(`Entry ${index} ${tooLong(entry)}`);
  }
}

function checkTokenArrays(list: readonly unknown[]): void {
  for (let index = 0; index < list.length; index++) {
    const entry = list[index];
    if (!Array.isArray(entry)) {
      throw invalidInput(
        index === 0
          ? `Entry 0 is ${describeType(entry)}; send strings or arrays of tokens.`
          : `Entry ${index} is ${describeType(entry)}, while the first is an array.`,
      );
    }
    if (entry.length === 0) throw invalidInput(`Entry ${index} is an empty array.`);
    if (firstInvalidToken(entry) >= 0) {
      throw invalidInput(`Entry ${index} has an element that is not a token (an integer from 0).`);
    }
  }
}

/** The index of the first entry that is not a token; -1 if all are tokens. */
function firstInvalidToken(list: readonly unknown[]): number {
  for (let index = 0; index < list.length; index++) {
    const entry = list[index];
    if (!Number.isSafeInteger(entry) || (entry as number) < 0) return index;
  }
  return -1;
}

/** OpenAI's message ends after "'$.input' is invalid."; ours adds what to change. */
const invalidInput = (problem: string): GatewayError =>
  new GatewayError("invalid_input", `'$.input' is invalid. ${problem}`);

/** The task type is not an OpenAI parameter, but most other vendors have it, under different names. */
function extractTaskType(given: ExtraFields): {
  readonly taskType?: TaskType;
  readonly extraFields: ExtraFields;
} {
  const field = taskTypeFields.find((name) => typeof given[name] === "string");
  if (field === undefined) return { extraFields: given };
  const { [field]: value, ...extraFields } = given;
  const taskType = parseTaskType(field, value as string);
  const duplicates = taskTypeFields.filter((name) => typeof extraFields[name] === "string");
  if (duplicates.length === 0) return { taskType, extraFields };
  for (const name of duplicates)
    checkSameTaskType(taskType, parseTaskType(name, extraFields[name] as string));
  // Given twice with the same meaning: no upstream needs both.
  const others = Object.entries(extraFields).filter(
    ([name]) => !duplicates.some((duplicate) => duplicate === name),
  );
  return { taskType: { ...taskType, also: duplicates }, extraFields: Object.fromEntries(others) };
}

/** If two fields disagreed and one won silently, half of an index could be built with the wrong task type. */
function checkSameTaskType(first: TaskType, other: TaskType): void {
  if (first.given === other.given || (first.meaning && first.meaning === other.meaning)) return;
  throw new GatewayError(
    "invalid_value",
    `Invalid value: '${other.given}'. '${first.field}' is '${first.given}', which has a different meaning: send only one of the two.`,
    { param: other.field },
  );
}
