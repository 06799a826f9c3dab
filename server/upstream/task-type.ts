/**
 * Task types of embeddings. Clients use several fields, and each vendor has its own values: `input_type: search_query`
 * (Cohere), `task_type: RETRIEVAL_QUERY` (Gemini) and `task: retrieval.query` (Jina) are the same task.
 */

export type Task =
  | "query"
  | "document"
  | "similarity"
  | "classification"
  | "clustering"
  | "code-query"
  | "question"
  | "fact";

/** The fields callers say it in. */
export const taskTypeFields = ["input_type", "task_type", "task"] as const;

export interface TaskType {
  readonly field: (typeof taskTypeFields)[number];
  readonly given: string;
  /** Absent for a word that nobody here knows: only those who know it themselves may get it. */
  readonly meaning?: Task;
  /** Other fields that said the same. */
  readonly also?: readonly string[];
}

/** A vendor's own words. What it has no word for, it cannot do. */
export interface TaskTypeTable {
  readonly field: string;
  readonly values: Readonly<Partial<Record<Task, string>>>;
  /** Sent where the caller does not say, to a vendor that must be told. */
  readonly defaultValue?: string;
}

/** Every spelling, in small letters and with `_` for whatever separates. */
const spellings: Readonly<Record<string, Task>> = {
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

/** The vendor's word, or undefined where it has none. A word of the vendor's own is taken as it is. */
export function vendorTaskType(
  purpose: TaskType,
  { values: words }: TaskTypeTable,
): string | undefined {
  const own = Object.values(words).find((word) => word === purpose.given);
  return own ?? (purpose.meaning && words[purpose.meaning]);
}
