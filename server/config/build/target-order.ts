/** The settings that order a model's targets: `tier` and `weight` of a target, `policy` of a model. */
interface Ordered {
  readonly tier?: number | undefined;
  readonly weight?: number | undefined;
}

/**
 * Default tiers. Embedding targets produce the same vectors, so all share the requests in one tier. Images differ
 * between targets, so the list is a failover chain from the preferred target to the last resort: each target is its own
 * tier.
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
