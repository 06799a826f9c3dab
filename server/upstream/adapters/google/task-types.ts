/** Task types of Google's models: a request field or, since gemini-embedding-2, a prefix of the text. */
import type { TaskTypeTable } from "../../task-type.ts";

/** https://ai.google.dev/api/embeddings#TaskType; Vertex AI has the same. */
export const taskTypes: TaskTypeTable = {
  field: "task_type",
  values: {
    query: "RETRIEVAL_QUERY",
    document: "RETRIEVAL_DOCUMENT",
    similarity: "SEMANTIC_SIMILARITY",
    classification: "CLASSIFICATION",
    clustering: "CLUSTERING",
    "code-query": "CODE_RETRIEVAL_QUERY",
    question: "QUESTION_ANSWERING",
    fact: "FACT_VERIFICATION",
  },
};

/**
 * https://ai.google.dev/gemini-api/docs/embeddings: this model ignores task types and expects these prefixes before
 * each text. A document without a title has the title `none`.
 */
export const taskPrefixes: TaskTypeTable = {
  field: "task_type",
  values: {
    query: "task: search result | query: ",
    document: "title: none | text: ",
    similarity: "task: sentence similarity | query: ",
    classification: "task: classification | query: ",
    clustering: "task: clustering | query: ",
    "code-query": "task: code retrieval | query: ",
    question: "task: question answering | query: ",
    fact: "task: fact checking | query: ",
  },
};

/** gemini-embedding-2 and, as far as documented, later models. The version of the first model has three digits. */
export const wantsPrefixes = (model: string): boolean => /gemini-embedding-(?!001|exp)/.test(model);
