/**
 * `input` of an embeddings request, the one field that is checked by hand and not by zod: a union tries each
 * alternative on the whole of a long list, and makes an issue for each entry. This check reads the number of inputs
 * first, then each entry once, up to the first invalid one.
 */
import { z } from "zod";
import { describeType, refused } from "../http/validate-body.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { maxTextLength } from "../lib/max-text-length.ts";
import type { EmbeddingInput } from "../upstream/contract.ts";

export interface ParsedInput {
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

export const inputField = (maxInputs: number) =>
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
