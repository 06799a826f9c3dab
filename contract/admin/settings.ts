/** Settings in force. */
import { z } from "zod";
import type { Infer } from "./infer.ts";

export const settingSchema = z
  .strictObject({
    object: z.literal("setting"),
    name: z.string(),
    value: z.string(),
    is_default: z.boolean(),
    description: z.string(),
  })
  .meta({ id: "Setting" });
export type Setting = Infer<typeof settingSchema>;
