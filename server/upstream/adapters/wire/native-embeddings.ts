/** Shared by embeddings adapters with a native API: reads inputs, task types, vectors and usage. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  Vector,
} from "../../contract.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { type TaskTypeTable, vendorTaskType } from "../../task-type.ts";
import { isCount, memberOf } from "./members.ts";

/** Only for targets whose capabilities exclude token arrays and images. */
export function textsOf({ input }: EmbeddingsQuery): readonly string[] {
  if (input.kind === "text") return input.texts;
  throw new GatewayError(
    "internal",
    "Tokens or images were sent to a target that reads texts only.",
  );
}

/** The vendor's value of the task type. */
export function taskTypeOf(
  { taskType }: EmbeddingsQuery,
  { taskTypes }: EmbeddingCapabilities,
): string | undefined {
  if (typeof taskTypes !== "object") return undefined;
  return taskType ? vendorTaskType(taskType, taskTypes) : taskTypes.defaultValue;
}

/** Cohere's values, which other vendors have adopted. */
export const cohereTaskTypes: TaskTypeTable["values"] = {
  query: "search_query",
  document: "search_document",
  classification: "classification",
  clustering: "clustering",
};

/** A list of numbers, which are float32 if it is long. */
export const isNumberList = (value: unknown): value is Float32Array | readonly number[] =>
  value instanceof Float32Array || Array.isArray(value);

/** A list of numbers. A later stage verifies that each entry is a number. */
export function vectorIn(entry: unknown, name: string): Vector {
  const vector = memberOf(entry, name);
  if (!isNumberList(vector)) throw invalidResponse(`an entry has no list called \`${name}\``);
  return vector;
}

/** The reported token count, 0 included. A value that is not a count, such as -1, is dropped. */
export const usageOf = (count: unknown): Pick<EmbeddingsResponse, "usage"> =>
  isCount(count) ? { usage: { inputTokens: count } } : {};

/** Reads vectors from an array of arrays, one for each input and in input order. */
export function vectorRows(list: unknown): readonly Vector[] {
  if (!Array.isArray(list)) throw invalidResponse("it has no list of vectors");
  return list.map((row: unknown) => {
    if (!isNumberList(row)) throw invalidResponse("an entry of its list is not a vector");
    // A model without pooling returns a vector for each token. How to combine them is not known here.
    if (isNumberList(row[0])) throw invalidResponse("it has several vectors for one input");
    return row;
  });
}
