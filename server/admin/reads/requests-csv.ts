/** Requests as CSV. */
import type { ShownRequest } from "../../../contract/admin.ts";
import { csvLine } from "./usage-csv.ts";

const columns = [
  "at",
  "id",
  "endpoint",
  "key_id",
  "key_name",
  "project",
  "model",
  "upstream",
  "target_model",
  "attempts",
  "status",
  "error",
  "latency_ms",
  "input_tokens",
  "output_tokens",
  "images",
  "inputs",
  "cached_inputs",
  "cost",
  "estimated_cost",
  "end_user",
] as const satisfies readonly (keyof ShownRequest)[];

export const requestsCsvHead: string = csvLine([...columns, "tags"]);

export const requestsCsvRow = (request: ShownRequest): string =>
  csvLine([...columns.map((name) => request[name]), request.tags.join(" ")]);
