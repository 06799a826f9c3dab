/** The body of an embeddings request: one schema validates requests, and is printed in the OpenAPI document. */

import { z } from "zod";
import { describeType, parse, refused } from "../http/validate-body.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { maxTextLength } from "../lib/max-text-length.ts";
import type { EmbeddingInput, EmbeddingsQuery, ExtraFields } from "../upstream/contract.ts";
import { parseTaskType, type TaskType, taskTypeFields } from "../upstream/task-type.ts";

const modelId = z
  .string()
  .min(1)
  .describe("The public ID of an embedding model. Default: the default model of the API key.");

const fieldsWithoutModel = (maxInputs: number) => ({
  input: inputField(maxInputs),
  encoding_format: z.enum(["float", "base64"]).optional().describe("Default: float."),
  dimensions: z
    .int()
    .min(1)
    .optional()
    .describe("The length of the vectors, if the model supports it."),
  user: z.string().optional(),
});

interface EmbeddingsBody {
  /** As a client sends it. */
  readonly schema: z.ZodType;
  /** The same on the older route, which has the model in its path. */
  readonly engineSchema: z.ZodType;
  /** `body`: without null members, and with the model filled in. Throws GatewayError. */
  read(body: Readonly<Record<string, unknown>>): EmbeddingsQuery;
}

export function embeddingsBody(maxInputs: number): EmbeddingsBody {
  const fields = fieldsWithoutModel(maxInputs);
  // The other fields are passed on unchecked. `z.looseObject` would copy them, at several times the cost of `z.object`.
  const knownFields = z.object({ model: modelId, ...fields });
  return {
    schema: z.looseObject({ model: modelId.optional(), ...fields }),
    engineSchema: z.looseObject(fields),
    read: (body) => toQuery(parse(knownFields, body), extraFieldsOf(body, knownFields.shape)),
  };
}

type ParsedBody = z.output<
  z.ZodObject<{ model: typeof modelId } & ReturnType<typeof fieldsWithoutModel>>
>;

const noExtraFields: ExtraFields = Object.freeze({});

function extraFieldsOf(
  body: Readonly<Record<string, unknown>>,
  known: Readonly<Record<string, z.ZodType>>,
): ExtraFields {
  for (const name in body) {
    if (!Object.hasOwn(known, name)) {
      return Object.fromEntries(
        Object.entries(body).filter(([each]) => !Object.hasOwn(known, each)),
      );
    }
  }
  return noExtraFields;
}

function toQuery(known: ParsedBody, extraFields: ExtraFields): EmbeddingsQuery {
  const { model, encoding_format: encoding = "float", dimensions, user } = known;
  const { input, single } = known.input;
  const query = { model, input, single, encoding, extraFields };
  const isPlain = dimensions === undefined && user === undefined && extraFields === noExtraFields;
  if (isPlain) return query;
  return {
    ...query,
    ...(dimensions !== undefined && { dimensions }),
    ...(user !== undefined && { user }),
    ...extractTaskType(extraFields),
  };
}

interface ParsedInput {
  readonly input: EmbeddingInput;
  /** A single input, not an array of inputs. */
  readonly single: boolean;
}

const text = { type: "string", minLength: 1, maxLength: maxTextLength } as const;
const tokens = {
  type: "array",
  minItems: 1,
  items: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
} as const;

/** For the OpenAPI document. */
const jsonSchema = {
  description: "A string, an array of strings, an array of tokens, or an array of token arrays.",
  anyOf: [
    text,
    { type: "array", minItems: 1, items: text },
    tokens,
    { type: "array", minItems: 1, items: tokens },
  ],
} as const;

/**
 * `input` of an embeddings request, the one field that is checked by hand and not by zod: a union tries each
 * alternative on the whole of a long list, and makes an issue for each entry. This check reads the number of inputs
 * first, then each entry once, up to the first invalid one.
 */
const inputField = (maxInputs: number) =>
  z
    .unknown()
    .transform((given, context): ParsedInput => {
      try {
        return readInput(given, maxInputs);
      } catch (error) {
        return refused(context, error);
      }
    })
    .meta(jsonSchema);

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
  return {
    taskType: { ...taskType, duplicateFields: duplicates },
    extraFields: Object.fromEntries(others),
  };
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
