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
import type { Draft } from "./plan.ts";

export function planSize(draft: Draft, sizes: Sizes): void {
  const asked = draft.options.size;
  if (asked === undefined || sizes === "any") return;
  if ("list" in sizes && sizes.list.includes(asked)) return;
  if (asked === "auto") {
    delete draft.options.size;
    return;
  }
  // The client may send an aspect ratio as the size.
  if ("ratios" in sizes && sizes.ratios.includes(asked)) {
    draft.shape = { aspectRatio: asked };
    delete draft.options.size;
    return;
  }
  const why = sizeMismatch(asked, sizes);
  if (why === undefined && !("ratios" in sizes)) return;
  const size = parseSize(asked);
  if (size && "ratios" in sizes && draft.policy !== "strict") {
    draft.shape = { aspectRatio: nearestRatio(size, sizes.ratios), requestedSize: asked };
    draft.adapted.push("size");
  } else if (draft.policy === "drop") {
    draft.dropped.push("size");
  } else {
    throw invalidSize(asked, why ?? describeSizes(sizes), sizes);
  }
  delete draft.options.size;
}

function sizeMismatch(asked: string, sizes: Exclude<Sizes, "any">): string | undefined {
  const size = parseSize(asked);
  if (!size) return describeSizes(sizes);
  return "rule" in sizes ? sizeRuleViolation(size, sizes.rule) : describeSizes(sizes);
}

/** OpenAI has a code of its own for models with a list of sizes. */
const invalidSize = (asked: string, why: string, sizes: Exclude<Sizes, "any">): GatewayError =>
  new GatewayError(
    "rule" in sizes ? "invalid_value" : "invalid_size",
    `Invalid size '${asked.slice(0, 100)}'. ${why}`,
    {
      param: "size",
    },
  );
