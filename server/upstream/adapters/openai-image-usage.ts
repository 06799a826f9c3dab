/** Usage is believed only when all its totals are there and are counts: half a number is unknown, and so is -1. */
import type { ImageUsage } from "../contract.ts";

export const isUsage = (usage: unknown): usage is ImageUsage =>
  typeof usage === "object" &&
  usage !== null &&
  ["total_tokens", "input_tokens", "output_tokens"].every((name) => {
    const count = (usage as Record<string, unknown>)[name];
    return Number.isSafeInteger(count) && (count as number) >= 0;
  });
