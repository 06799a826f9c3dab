/** A map with a maximum number of entries, which Zod's `record` does not have. */
import { z } from "zod";
import { schemaText } from "../messages/schema-messages.ts";

export const boundedRecord = <Name extends z.ZodType<string, string>, Value extends z.ZodType>(
  name: Name,
  value: Value,
  maxProperties: number,
) =>
  z
    .record(name, value)
    .refine(
      (entries) => Object.keys(entries).length <= maxProperties,
      schemaText("max_entries", { max: maxProperties }),
    )
    .meta({ maxProperties });
