/**
 * POST /v1/embeddings, and the older route with the model in its path. One schema validates the body, and is printed in
 * the OpenAPI document. Extra fields are kept for the upstream.
 */

import { z } from "zod";
import { countedTokens, estimateInputTokens } from "../embeddings/embedding-usage.ts";
import { extractOutputType, quantizedTypes } from "../embeddings/output-type.ts";
import { refuseOtherEncodings } from "../embeddings/refuse-other-encodings.ts";
import { itemsOf } from "../embeddings/split.ts";
import { longBodyOf, shortBodyOf } from "../embeddings/vector-formats.ts";
import { bodyWithoutNulls, validate } from "../http/read-body.ts";
import { describeType, refused } from "../http/validation-error.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Endpoint, WriteContext, WrittenResponse } from "../pipeline/endpoint.ts";
import type { PermittedModel } from "../request/caller.ts";
import { maxTextLength } from "../request/max-text-length.ts";
import type {
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
  ExtraFields,
} from "../upstream/contract.ts";
import { extractTaskType } from "../upstream/task-type.ts";
import {
  checkTokenArray,
  entrySchema,
  firstInvalidToken,
  inlineImagesAsEntries,
  readEntries,
} from "./embedding-entries.ts";

export function embeddingsEndpoint(options: {
  readonly maxInputs: number;
}): Endpoint<EmbeddingsQuery, EmbeddingsResponse> {
  const { read } = embeddingsBody(options.maxInputs);
  return {
    operation: "embeddings",
    kind: "embedding",
    read: async (incoming, keyId, nameModel, readsImages) => {
      const body = bodyWithoutNulls(
        await (readsImages ? incoming.jsonWithImages(keyId, "several") : incoming.json(keyId)),
      );
      const model = nameModel(body.model);
      const named = model === body.model ? body : { ...body, model };
      if (!readsImages?.(model)) return { query: read(named) };
      return { query: read({ ...named, input: inlineImagesAsEntries(named.input) }) };
    },
    responseBytes: expectedResponseBytes,
    write,
  };
}

/** The older route, for clients of 2022. They send their own `timeout` in the body, which is dropped. */
export function engineEmbeddingsEndpoint(options: {
  readonly maxInputs: number;
}): Endpoint<EmbeddingsQuery, EmbeddingsResponse> {
  const { read } = embeddingsBody(options.maxInputs, readTextsAndTokens);
  return {
    ...embeddingsEndpoint(options),
    read: async (incoming, keyId, nameModel) => {
      const { timeout, ...body } = bodyWithoutNulls(await incoming.json(keyId));
      const model = nameModel(body.model);
      return { query: read({ ...body, model }) };
    },
  };
}

const readTextsAndTokens: ReadEntries = (list) => {
  if (!list.some(isObject)) return readEntries(list);
  throw invalidInput(
    "This path takes strings and tokens only: send objects with images to /v1/embeddings.",
  );
};

/** `usage` is always sent: OpenAI's types require two integers, and strict clients fail on null. */
async function write(
  response: EmbeddingsResponse,
  query: EmbeddingsQuery,
  context: () => WriteContext,
): Promise<WrittenResponse> {
  const reported = response.usage?.inputTokens;
  const tokens = reported ?? response.estimatedTokens ?? (await estimateInputTokens(query.input));
  const counted = countedTokens(response);
  const { totalTokens, imageTokens } = response.usage ?? {};
  const tail = { model: query.model, tokens, totalTokens, imageTokens };
  return {
    kind: "buffered",
    body:
      shortBodyOf(response, query, tail) ??
      (await longBodyOf(response, query, tail, (steps) => context().runInSteps(steps))),
    usage: counted === undefined ? undefined : { inputTokens: counted },
    ...(reported === undefined && { estimated: true }),
    deviations: response.deviations,
  };
}

/** Requests with fewer inputs have small responses. */
const manyInputs = 8;

/** For a model that the catalog does not know. */
const usualDimensions = 1536;

/**
 * Bytes in memory for each number of a vector: 5.3 for the upstream's base64, plus 5.3 for base64 or 11 for text in the
 * body of the response.
 */
const bytesPerNumber = { base64: 11, float: 16 } as const;

/** Estimates the memory that a response takes, in bytes. 0 for a request with few inputs. */
function expectedResponseBytes(
  { input, dimensions, encoding }: EmbeddingsQuery,
  { dimensions: configured, known }: PermittedModel,
): number {
  const inputs = itemsOf(input);
  if (inputs < manyInputs) return 0;
  const length = dimensions ?? configured ?? known?.dimensions ?? usualDimensions;
  return inputs * length * bytesPerNumber[encoding];
}

const modelId = z
  .string()
  .min(1)
  .describe("The public ID of an embedding model. Default: the default model of the API key.");

const fieldsWithoutModel = (maxInputs: number, read: ReadEntries) => ({
  input: inputField(maxInputs, read),
  encoding_format: z
    .enum(["float", "base64", ...quantizedTypes])
    .optional()
    .describe("Default: float. The other values are those of `output_dtype`."),
  dimensions: z
    .int()
    .min(1)
    .optional()
    .describe("The length of the vectors, if the model supports it."),
  user: z.string().optional(),
});

const typeOrEncoding = z.enum(["float", "base64", ...quantizedTypes]);
const sameAsOutputType = z
  .union([typeOrEncoding, z.array(typeOrEncoding).length(1)])
  .optional()
  .describe("The same as `output_dtype`, also as a list of one.");

/** For the OpenAPI document: `output-type.ts` reads them. */
const outputTypeFields = {
  output_dtype: z
    .enum(["float", ...quantizedTypes])
    .optional()
    .describe("The type of the numbers. Quantized vectors are integers. Default: float."),
  embedding_type: sameAsOutputType,
  embedding_types: sameAsOutputType,
};

/** For the OpenAPI document: the pipeline takes it out of the extra fields. */
const attributionFields = {
  metadata: z
    .unknown()
    .optional()
    .describe("Tags of the request: an object of texts. What is no tag is left out and reported."),
};

interface EmbeddingsBody {
  /** As a client sends it. */
  readonly schema: z.ZodType;
  /** The same on the older route, which has the model in its path. */
  readonly engineSchema: z.ZodType;
  /** `body`: without null members, and with the model filled in. Throws GatewayError. */
  read(body: Readonly<Record<string, unknown>>): EmbeddingsQuery;
}

/** Reads a list of strings, token arrays and objects. */
type ReadEntries = (list: readonly unknown[]) => EmbeddingInput;

export function embeddingsBody(
  maxInputs: number,
  readObjects: ReadEntries = readEntries,
): EmbeddingsBody {
  const fields = fieldsWithoutModel(maxInputs, readObjects);
  const documented = { ...outputTypeFields, ...attributionFields };
  // The other fields are passed on unchecked, or read from the extra fields. `z.looseObject` would copy them, at
  // several times the cost of `z.object`.
  const knownFields = z.object({ model: modelId, ...fields });
  return {
    schema: z.looseObject({ model: modelId.optional(), ...fields, ...documented }),
    engineSchema: z.looseObject({
      ...fields,
      input: fields.input.meta(engineJsonSchema),
      ...documented,
    }),
    read: (body) => toQuery(validate(knownFields, body), extraFieldsOf(body, knownFields.shape)),
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
  const { model, encoding_format: format = "float", dimensions, user } = known;
  const { input, single } = known.input;
  const encoding = format === "base64" ? format : "float";
  const query = { model, input, single, encoding, extraFields } as const;
  const isPlain = dimensions === undefined && user === undefined && extraFields === noExtraFields;
  const isEncoding = format === "float" || format === "base64";
  if (isPlain && isEncoding) return query;
  const { outputType, extraFields: others } = extractOutputType(
    extraFields,
    isEncoding ? undefined : format,
  );
  refuseOtherEncodings(others);
  return {
    ...query,
    ...(dimensions !== undefined && { dimensions }),
    ...(user !== undefined && { user }),
    // SDKs of OpenAI request base64 by themselves, and decode every text as float32.
    ...(outputType && { outputType, encoding: "float" }),
    ...extractTaskType(others),
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

/** For the OpenAPI document: the older route takes no images. */
const engineJsonSchema = {
  description:
    "A string, an array of tokens, or an array of strings and token arrays. Images are sent to /v1/embeddings.",
  anyOf: [text, tokens, { type: "array", minItems: 1, items: { anyOf: [text, tokens] } }],
} as const;

/** For the OpenAPI document. */
const jsonSchema = {
  description:
    "A string, an array of tokens, or an array of strings and token arrays; for a model that reads images also an object with images, alone or in such an array.",
  anyOf: [
    text,
    tokens,
    entrySchema,
    { type: "array", minItems: 1, items: { anyOf: [text, tokens, entrySchema] } },
  ],
} as const;

/**
 * `input` of an embeddings request, the one field that is checked by hand and not by zod: a union tries each
 * alternative on the whole of a long list, and makes an issue for each entry. This check reads the number of inputs
 * first, then each entry once, up to the first invalid one.
 */
const inputField = (maxInputs: number, readObjects: ReadEntries) =>
  z
    .unknown()
    .transform((given, context): ParsedInput => {
      try {
        return readInput(given, maxInputs, readObjects);
      } catch (error) {
        return refused(context, error);
      }
    })
    .meta(jsonSchema);

function readInput(given: unknown, maxInputs: number, readObjects: ReadEntries): ParsedInput {
  if (typeof given === "string") {
    if (given === "") throw invalidInput("It is an empty string.");
    if (given.length > maxTextLength) throw invalidInput(`It ${tooLong(given)}`);
    return { input: { kind: "text", texts: [given] }, single: true };
  }
  if (given === undefined) {
    throw invalidInput("It is missing: send a string or an array of strings.");
  }
  if (!Array.isArray(given)) {
    if (isObject(given)) return { input: readObjects([given]), single: true };
    throw invalidInput(`It must be a string or an array, not ${describeType(given)}.`);
  }
  return readList(given, maxInputs, readObjects);
}

function readList(
  list: readonly unknown[],
  maxInputs: number,
  readObjects: ReadEntries,
): ParsedInput {
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
    const input = checkTexts(list)
      ? ({ kind: "text", texts: list as string[] } as const)
      : readObjects(list);
    return { input, single: false };
  }
  const input =
    Array.isArray(list[0]) && checkTokenArrays(list)
      ? ({ kind: "tokens", tokens: list as number[][] } as const)
      : readObjects(list);
  return { input, single: false };
}

const tooLong = (text: string): string =>
  `has ${text.length} characters; a text may have at most ${maxTextLength}. Split it into several inputs.`;

const isObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** False: an entry is not a string, and the entries after it are not checked. */
function checkTexts(list: readonly unknown[]): boolean {
  for (let index = 0; index < list.length; index++) {
    const entry = list[index];
    if (typeof entry !== "string") return false;
    if (entry === "") throw invalidInput(`Entry ${index} is an empty string.`);
    if (entry.length > maxTextLength) throw invalidInput(`Entry ${index} ${tooLong(entry)}`);
  }
  return true;
}

/** False: an entry is not an array, and the entries after it are not checked. */
function checkTokenArrays(list: readonly unknown[]): boolean {
  for (let index = 0; index < list.length; index++) {
    const entry = list[index];
    if (!Array.isArray(entry)) return false;
    checkTokenArray(entry, index);
  }
  return true;
}

/** OpenAI's message ends after "'$.input' is invalid."; ours adds what to change. */
const invalidInput = (problem: string): GatewayError =>
  new GatewayError("invalid_input", `'$.input' is invalid. ${problem}`);
