/** Columns of rows of LiteLLM that this version of Vexel does not know: a later LiteLLM may protect something with them. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import type { FoundLoss } from "../losses.ts";
import { hasContent } from "./column-values.ts";
import { isKnownColumn } from "./report-unused.ts";

/** `prefix`: of the names of the columns in the report. */
export const unknownColumns = (row: JsonObject | undefined, prefix = ""): readonly FoundLoss[] =>
  Object.entries(row ?? {}).flatMap(([name, value]) =>
    isKnownColumn(name) || !hasContent(value)
      ? []
      : [
          {
            loss: "unknown-columns",
            field: `${prefix}${name}`,
            note: "this version of Vexel does not know the column",
          } as const,
        ],
  );
