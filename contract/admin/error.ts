/** An error of the admin API, in OpenAI's shape. */
import { z } from "zod";
import type { Infer } from "./infer.ts";

export const adminErrorSchema = z
  .strictObject({
    error: z.strictObject({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().nullable(),
      used_by: z
        .array(z.strictObject({ kind: z.enum(["model", "key"]), id: z.string(), name: z.string() }))
        .exactOptional()
        .describe("What refers to the entity, with the code `in_use`: at most 100."),
    }),
  })
  .meta({ id: "AdminError", description: "An error of the admin API, in OpenAI's shape." });
export type AdminError = Infer<typeof adminErrorSchema>;
