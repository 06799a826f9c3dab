/**
 * Plans the size: the requested size where the target takes sizes, the nearest aspect ratio where it takes only
 * ratios.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Sizes } from "../../upstream/image-capabilities.ts";
import {
  describeSizes,
  nearestRatio,
  parseSize,
  sizeRuleViolation,
} from "../../upstream/image-sizes.ts";
import type { Draft } from "./image-plan.ts";

export function planSize(draft: Draft, sizes: Sizes): void {
  const requested = draft.options.size;
  if (requested === undefined || sizes === "any") return;
  if ("list" in sizes && sizes.list.includes(requested)) return;
  if (requested === "auto") {
    delete draft.options.size;
    return;
  }
  // The client may send an aspect ratio as the size.
  if ("ratios" in sizes && sizes.ratios.includes(requested)) {
    draft.shape = { aspectRatio: requested };
    delete draft.options.size;
    return;
  }
  const reason = sizeMismatch(requested, sizes);
  if (reason === undefined && !("ratios" in sizes)) return;
  const size = parseSize(requested);
  if (size && "ratios" in sizes && draft.policy !== "strict") {
    draft.shape = { aspectRatio: nearestRatio(size, sizes.ratios), requestedSize: requested };
    draft.adapted.push("size");
  } else if (draft.policy === "drop") {
    draft.dropped.push("size");
  } else {
    throw invalidSize(requested, reason ?? describeSizes(sizes), sizes);
  }
  delete draft.options.size;
}

function sizeMismatch(requested: string, sizes: Exclude<Sizes, "any">): string | undefined {
  const size = parseSize(requested);
  if (!size) return describeSizes(sizes);
  return "rule" in sizes ? sizeRuleViolation(size, sizes.rule) : describeSizes(sizes);
}

/** OpenAI has a code of its own for models with a list of sizes. */
const invalidSize = (
  requested: string,
  reason: string,
  sizes: Exclude<Sizes, "any">,
): GatewayError =>
  new GatewayError(
    "rule" in sizes ? "invalid_value" : "invalid_size",
    `Invalid size '${requested.slice(0, 100)}'. ${reason}`,
    {
      param: "size",
    },
  );
