/** Routing policy `weighted`: random, in proportion to the weights. */
import type { Candidate, Policy } from "./policy.ts";

export const weighted: Policy = (candidates, { random }) =>
  selectWeighted(candidates, random, undefined);

/** `except`: excluded if there is another candidate. */
export function selectWeighted(
  candidates: readonly Candidate[],
  random: () => number,
  except: Candidate | undefined,
): Candidate {
  let sum = 0;
  for (const candidate of candidates) if (candidate !== except) sum += candidate.weight;
  let left = random() * sum;
  let selected = candidates[0] as Candidate;
  for (const candidate of candidates) {
    if (candidate === except) continue;
    selected = candidate;
    left -= candidate.weight;
    if (left < 0) break;
  }
  return selected;
}
