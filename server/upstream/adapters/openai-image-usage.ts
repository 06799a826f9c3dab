/** Usage is believed only when all its totals are there: half a number is unknown. */
import type { ImageUsage } from "../contract.ts";

export const isUsage = (usage: unknown): usage is ImageUsage =>
  typeof usage === "object" &&
  usage !== null &&
  (["total_tokens", "input_tokens", "output_tokens"] as const).every((name) =>
    Number.isSafeInteger((usage as Record<string, unknown>)[name]),
  );
