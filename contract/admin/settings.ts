/** Settings in force. */
import { z } from "zod";
import { settingGroups } from "./constants.ts";
import type { Infer } from "./infer.ts";

export const settingSchema = z
  .strictObject({
    object: z.literal("setting"),
    name: z.string(),
    value: z.string(),
    source: z
      .enum(["default", "environment"])
      .describe(
        "Where the value comes from. A variable that is set to the default counts as default.",
      ),
    group: z.enum(settingGroups).describe("The part of the gateway that it belongs to."),
    description: z.string(),
  })
  .meta({ id: "Setting" });
export type Setting = Infer<typeof settingSchema>;
