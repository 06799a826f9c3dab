/** POST /v1/embeddings: OpenAI's checks in OpenAI's order, then the vectors, corrupted if a fault says so. */

import { corruptRows, type Row } from "./corrupt-rows.ts";
import { bytesOf, type FakeResponse, json } from "./fake-response.ts";
import type { InjectedFault } from "./injected-fault.ts";
import { embeddingModels, imageModels } from "./models.ts";
import { invalid, noModel, notJson, Refusal } from "./refusal.ts";
import type { RecordedRequest } from "./request.ts";
import { asBase64, asFloats, fakeTokens, fakeVector, type Input } from "./vectors.ts";

const maxInputs = 2048;
const maxTokens = 8192;
const maxTotalTokens = 300_000;
const fields = ["input", "model", "encoding_format", "dimensions", "user"];

const badInput = () =>
  invalid(
    "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.",
  );

const isTokens = (value: unknown): value is number[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((token) => Number.isInteger(token) && token >= 0);

function readInputs(input: unknown): Input[] {
  if (typeof input === "string") return readInputs([input]);
  if (!Array.isArray(input) || input.length === 0 || input.length > maxInputs) throw badInput();
  if (isTokens(input)) return [input];
  const texts = input.every((item) => typeof item === "string" && item !== "");
  if (!texts && !input.every(isTokens)) throw badInput();
  return input;
}

function countTokens(inputs: readonly Input[]): number {
  const counts = inputs.map(fakeTokens);
  const most = Math.max(...counts);
  if (most > maxTokens)
    throw invalid(
      `This model's maximum context length is ${maxTokens} tokens, however you requested ${most} tokens (${most} in your prompt; 0 for the completion). Please reduce your prompt; or completion length.`,
    );
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total > maxTotalTokens)
    throw new Refusal(400, {
      message: `Requested ${total} tokens, max ${maxTotalTokens} tokens per request`,
      type: "max_tokens_per_request",
      param: null,
      code: "max_tokens_per_request",
    });
  return total;
}

function readDimensions(query: Record<string, unknown>, model: string, full: number): number {
  if (!("dimensions" in query)) return full;
  // Even null counts as given (sbintuitions/JMTEB#14).
  if (model === "text-embedding-ada-002")
    throw invalid("This model does not support specifying dimensions.");
  const dimensions = query.dimensions;
  if (typeof dimensions !== "number" || !Number.isInteger(dimensions) || dimensions < 1)
    throw invalid(
      "'$.dimensions' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.",
    );
  // From memory.
  if (dimensions > full)
    throw invalid(
      `Invalid value for 'dimensions' = ${dimensions}. Must be less than or equal to ${full}.`,
    );
  return dimensions;
}

function readFormat(query: Record<string, unknown>): "float" | "base64" {
  const format = "encoding_format" in query ? query.encoding_format : "float";
  if (format !== "float" && format !== "base64")
    throw invalid(
      `Invalid value for 'encoding_format' = ${format}. Supported values: ['float', 'base64'].`,
    );
  return format;
}

function readModel(query: Record<string, unknown>): [string, number] {
  const { model } = query;
  if (typeof model !== "string" || model === "")
    throw invalid("you must provide a model parameter");
  if (model in imageModels)
    throw invalid("You are not allowed to generate embeddings from this model", null, null, 403);
  const full = embeddingModels[model];
  if (full === undefined) throw noModel(model);
  return [model, full];
}

export function embeddings(request: RecordedRequest, fault: InjectedFault = {}): FakeResponse {
  const query = request.json;
  if (typeof query !== "object" || query === null || Array.isArray(query)) throw notJson();
  const queryFields = query as Record<string, unknown>;
  const [model, full] = readModel(queryFields);
  const unknownField = Object.keys(queryFields).find((field) => !fields.includes(field));
  if (unknownField) throw invalid(`Unrecognized request argument supplied: ${unknownField}`);
  const inputs = readInputs(queryFields.input);
  const dimensions = readDimensions(queryFields, model, full);
  const format = readFormat(queryFields);
  const tokens = countTokens(inputs);

  const rows: Row[] = inputs.map((input, index) => ({
    index,
    vector: fakeVector(input, dimensions),
    format,
  }));
  const response = {
    object: "list",
    data: corruptRows(rows, fault.vectors).map(({ index, vector, format: as }) => ({
      object: "embedding",
      index,
      embedding: as === "base64" ? asBase64(vector) : asFloats(vector),
    })),
    model,
    usage: fault.usage === "absent" ? undefined : { prompt_tokens: tokens, total_tokens: tokens },
  };
  const complete = json(response, 200, rateHeaders(tokens));
  if (fault.vectors !== "nan-literal") return complete;
  return { ...complete, body: bytesOf(JSON.stringify(response).replace("null", "NaN")) };
}

const rateHeaders = (tokens: number): Record<string, string> => ({
  "x-ratelimit-limit-requests": "5000",
  "x-ratelimit-limit-tokens": "1000000",
  "x-ratelimit-remaining-requests": "4999",
  "x-ratelimit-remaining-tokens": String(1_000_000 - tokens),
  "x-ratelimit-reset-requests": "12ms",
  "x-ratelimit-reset-tokens": `${Math.ceil(tokens * 0.06)}ms`,
});
