/** The task type in the extra fields of an embeddings request. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { ExtraFields } from "../upstream/contract.ts";
import { parseTaskType, type TaskType, taskTypeFields } from "../upstream/task-type.ts";

/** The task type is not an OpenAI parameter, but most other vendors have it, under different names. */
export function extractTaskType(given: ExtraFields): {
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
  return { taskType: { ...taskType, also: duplicates }, extraFields: Object.fromEntries(others) };
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
