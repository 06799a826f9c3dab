/** An error of the admin API, in OpenAI's shape, with what a client needs to translate it. */
import { z } from "zod";
import type { Translatable } from "../messages/message-format.ts";
import type { Infer } from "./infer.ts";

export const translatableSchema: z.ZodType<Translatable> = z
  .strictObject({
    id: z.string().describe("A stable id of the text, such as `role_needed`."),
    get values() {
      return z
        .record(z.string(), z.union([z.string(), z.number(), translatableSchema]))
        .describe("The values in the text, by name. A value may be a text with an id of its own.");
    },
  })
  .meta({
    id: "Translatable",
    description: "The id and the values of an English text, for clients that translate it.",
  });

export const adminErrorSchema = z
  .strictObject({
    error: z.strictObject({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().nullable(),
      used_by: z
        .array(
          z.strictObject({
            kind: z.enum(["model", "key", "alert"]),
            id: z.string(),
            name: z.string(),
          }),
        )
        .exactOptional()
        .describe("What refers to the entity, with the code `in_use`: at most 100."),
      i18n: translatableSchema.optional().describe("Of `message`. If absent, it has no id."),
    }),
  })
  .meta({ id: "AdminError", description: "An error of the admin API, in OpenAI's shape." });
export type AdminError = Infer<typeof adminErrorSchema>;
