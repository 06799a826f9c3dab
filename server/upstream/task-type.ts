/**
 * Task types of embeddings. Clients use several fields, and each vendor has its own values: `input_type: search_query`
 * (Cohere), `task_type: RETRIEVAL_QUERY` (Gemini) and `task: retrieval.query` (Jina) are the same task.
 */
import { GatewayError } from "../lib/gateway-error.ts";

export type EmbeddingTask =
  | "query"
  | "document"
  | "similarity"
  | "classification"
  | "clustering"
  | "code-query"
  | "question"
  | "fact";

/** The fields in which clients send a task type. */
export const taskTypeFields = ["input_type", "task_type", "task"] as const;

export interface TaskType {
  readonly field: (typeof taskTypeFields)[number];
  readonly given: string;
  /** The task. Absent for an unknown value: only vendors that define the value itself get it. */
  readonly meaning?: EmbeddingTask;
  /** Other fields of the request with the same task. */
  readonly duplicateFields?: readonly string[];
}

/** A vendor's values by task. A task without a value is not supported. */
export interface TaskTypeTable {
  readonly field: string;
  readonly values: Readonly<Partial<Record<EmbeddingTask, string>>>;
  /** The vendor's values that no task is translated to: a client may send them. */
  readonly otherValues?: readonly string[];
  /** The default for vendors that require a task type. */
  readonly defaultValue?: string;
}

/** All known spellings, in lower case and with `_` as the separator. */
const spellings: Readonly<Record<string, EmbeddingTask>> = {
  query: "query",
  search_query: "query",
  retrieval_query: "query",
  document: "document",
  passage: "document",
  search_document: "document",
  retrieval_document: "document",
  retrieval_passage: "document",
  similarity: "similarity",
  semantic_similarity: "similarity",
  text_matching: "similarity",
  sts: "similarity",
  classification: "classification",
  clustering: "clustering",
  separation: "clustering",
  code_query: "code-query",
  code_retrieval_query: "code-query",
  question_answering: "question",
  fact_verification: "fact",
  fact_checking: "fact",
};

export function parseTaskType(field: TaskType["field"], given: string): TaskType {
  const meaning = spellings[given.toLowerCase().replace(/[^a-z]+/g, "_")];
  return { field, given, ...(meaning && { meaning }) };
}

type Fields = Readonly<Record<string, unknown>>;

/** The task type is not an OpenAI parameter, but most other vendors have it, under different names. */
export function extractTaskType(given: Fields): {
  readonly taskType?: TaskType;
  readonly extraFields: Fields;
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

/** The vendor's value, or undefined if it has none. One of the vendor's own values is passed through. */
export function vendorTaskType(
  taskType: TaskType,
  { values, otherValues = [] }: TaskTypeTable,
): string | undefined {
  const own = [...Object.values(values), ...otherValues].find((value) => value === taskType.given);
  return own ?? (taskType.meaning && values[taskType.meaning]);
}
