/**
 * Task types on Hugging Face's servers are named prompts of the model, and each model has its own names. The
 * configuration maps them: `prompts: { query: query, document: passage }`.
 */
import { z } from "zod";
import { boundedRecord } from "../../../../contract/schemas/bounded-record.ts";
import type { Upstream } from "../../contract.ts";
import type { EmbeddingTask, TaskTypeTable } from "../../task-type.ts";

const meanings: readonly EmbeddingTask[] = [
  ...(["query", "document", "similarity", "classification", "clustering"] as const),
  ...(["code-query", "question", "fact"] as const),
];
const meaning = z
  .string()
  .max(100)
  .refine((name) => meanings.includes(name as EmbeddingTask), `is none of ${meanings.join(", ")}`);

export const promptsOption = boundedRecord(meaning, z.string().min(1).max(200), meanings.length)
  .optional()
  .describe(
    "The name of the model's prompt for each task type, such as query: query, document: passage.",
  );

export const promptsOf = ({ options }: Upstream): TaskTypeTable => ({
  field: "prompt_name",
  values: (options.prompts ?? {}) as TaskTypeTable["values"],
});
