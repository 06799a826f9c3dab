/** The settings that order a model's targets: `tier` and `weight` of a target, `policy` of a model. */
import { z } from "zod";

export const targetOrder = {
  /** Lower ones first; the next where none of these can serve. */
  tier: z.int().min(0).max(1000).optional(),
  /** How much of the calls it gets, compared with others of its tier. */
  weight: z.number().positive().max(1_000_000).optional(),
};

export const targetOrderKeys = Object.keys(targetOrder);

/** How one of several targets of a tier is picked. */
export const policy = z.enum(["p2c", "weighted", "cost", "sticky"]);

interface Ordered {
  readonly tier?: number | undefined;
  readonly weight?: number | undefined;
}

/**
 * Vectors are the same wherever they are made: unless the file says otherwise, all targets share the calls. Pictures are
 * not, and the list is a chain from the best to the last resort: unless the file says otherwise, each is its own tier.
 */
export function orderOf(
  kind: "embedding" | "image",
  targets: readonly Ordered[],
): readonly { readonly tier?: number; readonly weight?: number }[] {
  const isChain = kind === "image" && targets.every(({ tier }) => tier === undefined);
  return targets.map(({ tier = 0, weight = 1 }, at) => {
    const effectiveTier = isChain ? at : tier;
    return { ...(effectiveTier !== 0 && { tier: effectiveTier }), ...(weight !== 1 && { weight }) };
  });
}
