/** A target by the names of its upstream and of its model there, for operators. */
import type { Target } from "../upstream/contract.ts";

export const targetName = ({ upstream, model, surface }: Target): string =>
  `${upstream.id}/${model}${surface ? ` (${surface})` : ""}`;
