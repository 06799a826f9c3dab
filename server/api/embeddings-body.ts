/**
 * The body of an embeddings request: the schema that the OpenAPI document is made from, and the validator that reads
 * every request. The validator is written by hand: it makes one pass and stops at the first problem, where a schema
 * tries each alternative on the whole of a long list. A test holds it to the schema.
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
  .describe("A text, several texts, one text as tokens, or several texts as tokens.");

const encodings = ["float", "base64"] as const;

export const embeddingsBody = z.looseObject({
  model: z
    .string()
    .min(1)
    .optional()
    .describe("The public id of an embedding model. Absent: the default of the key."),
  input,
  encoding_format: z.enum(encodings).optional().describe("float when absent."),
  dimensions: z.int().min(1).optional().describe("Length of the vectors, where the model allows."),
  user: z.string().optional(),
});

/** On the older path the model stands in the address. */
export const engineEmbeddingsBody = embeddingsBody.omit({ model: true });

const knownFields: ReadonlySet<string> = new Set(Object.keys(embeddingsBody.shape));
const noExtraFields: ExtraFields = Object.freeze({});

/** `body` has no null members. A missing model is the caller's to refuse. */
export function readEmbeddingsBody(
  body: Readonly<Record<string, unknown>>,
  maxInputs: number,
): EmbeddingsQuery {
  const { model, encoding_format: encoding = "float", dimensions, user } = body;
  if (typeof model !== "string") throw invalidType("model", "string", model);
  const shape = readInput(body.input, maxInputs);
  if (encoding !== "float" && encoding !== "base64") {
    throw unsupportedValue("encoding_format", encodings, encoding);
  }
  if (dimensions !== undefined) checkDimensions(dimensions);
  if (user !== undefined && typeof user !== "string") throw invalidType("user", "string", user);
  const query: EmbeddingsQuery = {
    model,
    input: shape.input,
    single: shape.single,
    encoding,
    rest: noExtraFields,
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
  /** One input that is not in a list of inputs. */
  readonly single: boolean;
}

/** The count of inputs is checked first, then each entry once, up to the first that is wrong. */
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
  for (let at = 0; at < list.length; at++) {
    const entry = list[at];
    if (typeof entry !== "string") {
      throw invalidInput(`Entry ${at} is ${describeType(entry)}, while the first is a string.`);
    }
    if (entry === "") throw invalidInput(`Entry ${at} is an empty string.`);
    if (entry.length > maxTextLength) throw invalidInput(`Entry ${at} ${tooLong(entry)}`);
  }
}

function checkTokenArrays(list: readonly unknown[]): void {
  for (let at = 0; at < list.length; at++) {
    const entry = list[at];
    if (!Array.isArray(entry)) {
      throw invalidInput(
        at === 0
          ? `Entry 0 is ${describeType(entry)}; send strings, or arrays of tokens.`
          : `Entry ${at} is ${describeType(entry)}, while the first is an array.`,
      );
    }
    if (entry.length === 0) throw invalidInput(`Entry ${at} is an empty array.`);
    if (firstInvalidToken(entry) >= 0) {
      throw invalidInput(`Entry ${at} holds something that is not a token.`);
    }
  }
}

/** Where the first entry is that is not a token; -1 where all are. */
function firstInvalidToken(list: readonly unknown[]): number {
  for (let at = 0; at < list.length; at++) {
    const entry = list[at];
    if (!Number.isSafeInteger(entry) || (entry as number) < 0) return at;
  }
  return -1;
}

/** OpenAI says only "'$.input' is invalid"; this says what to change. */
const invalidInput = (problem: string): GatewayError =>
  new GatewayError("invalid_input", `'$.input' is invalid. ${problem}`);

/** Not OpenAI's, but most other vendors have it under one name or another. */
function extractTaskType(given: ExtraFields): {
  readonly taskType?: TaskType;
  readonly rest: ExtraFields;
} {
  const field = taskTypeFields.find((name) => typeof given[name] === "string");
  if (field === undefined) return { rest: given };
  const { [field]: word, ...rest } = given;
  const purpose = parseTaskType(field, word as string);
  const also = taskTypeFields.filter((name) => typeof rest[name] === "string");
  if (also.length === 0) return { taskType: purpose, rest };
  for (const name of also) checkSameTaskType(purpose, parseTaskType(name, rest[name] as string));
  // Said twice: no upstream needs both.
  const others = Object.entries(rest).filter(([name]) => !also.some((one) => one === name));
  return { taskType: { ...purpose, also }, rest: Object.fromEntries(others) };
}

/** One of them would win, and half an index be made for something else. */
function checkSameTaskType(one: TaskType, other: TaskType): void {
  if (one.given === other.given || (one.meaning && one.meaning === other.meaning)) return;
  throw new GatewayError(
    "invalid_value",
    `Invalid value: '${other.given}'. '${one.field}' is '${one.given}', which is not the same: send one of the two.`,
    { param: other.field },
  );
}
