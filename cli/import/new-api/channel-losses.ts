/** Protections of a model of new-api: groups of its channels, and its price. */
import type { FoundLoss } from "../losses.ts";
import type { PlannedTarget } from "./planned-target.ts";
import type { NewApiSource } from "./read.ts";

/** A key of one group would reach the channels of another. */
export const channelLosses = (targets: readonly PlannedTarget[]): readonly FoundLoss[] => {
  const groups = [...new Set(targets.map((target) => target.groups.toSorted().join(", ")))];
  return groups.length <= 1
    ? []
    : [
        {
          loss: "deployment-tags",
          field: "group",
          note: `its channels are for different groups (${groups.join("; ")}), and every key could reach all of them`,
        },
      ];
};

export const unpricedLoss: readonly FoundLoss[] = [
  {
    loss: "unpriced-models",
    field: "ModelRatio",
    note: "new-api has no price of it, and refuses its requests",
  },
];

/** new-api refuses models without a price, unless it is in self-use mode. It has prices of its own, which an option replaces. */
export function isRefusedThere(
  id: string,
  targets: readonly PlannedTarget[],
  { ratios, prices, options }: Pick<NewApiSource, "ratios" | "prices" | "options">,
): boolean {
  if (options.get("SelfUseModeEnabled") === "true" || ratios.has(id) || prices.has(id))
    return false;
  if ((options.get("billing_setting.billing_mode") ?? "").includes(JSON.stringify(id)))
    return false;
  return options.has("ModelRatio") || targets.some(({ planned }) => !planned.isKnown);
}
