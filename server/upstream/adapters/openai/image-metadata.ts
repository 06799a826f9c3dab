/**
 * Fields of OpenAI's image responses besides the images, and the mark on `usage` that a Vexel gateway has estimated:
 * the next gateway does not account for it as reported usage.
 */
import type { UpstreamResponse } from "../../adapter.ts";
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

/** The response header. */
export const usageHeader = "vexel-usage";
/** The same in a stream event, since the headers are sent before the usage is known. */
export const estimatedField = "vexel_usage";

export const isEstimated = ({ headers }: Pick<UpstreamResponse, "headers">): boolean =>
  headers.get(usageHeader) === "estimated";
