/** Reads image metadata and usage from OpenAI's responses. */
import type { ImageMetadata, ImageUsage } from "../../contract.ts";
import { isCount, memberOf } from "../wire/members.ts";

const metadataNames = ["size", "quality", "background", "output_format"] as const;

export const metadataIn = (value: unknown): ImageMetadata =>
  Object.fromEntries(
    metadataNames.flatMap((name) => {
      const fact = memberOf(value, name);
      return typeof fact === "string" ? [[name, fact]] : [];
    }),
  );

/** Usage is valid only if all its totals are present and are counts: a partial or negative count is unknown. */
export const isUsage = (usage: unknown): usage is ImageUsage =>
  ["total_tokens", "input_tokens", "output_tokens"].every((name) => isCount(memberOf(usage, name)));
