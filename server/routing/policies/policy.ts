/** A policy picks one of several targets that could all serve. It is a pure function: chance and clock come with the question. */
import type { Target } from "../../upstream/contract.ts";
import type { TargetHealth } from "../health/target-health.ts";

/** A target in the list of one model. */
export interface Candidate {
  readonly target: Target;
  readonly health: TargetHealth;
  /** Lower ones first; the next only where none of these can serve. */
  readonly tier: number;
  readonly weight: number;
  /** For `sticky`: what tells it from the others, the same after every restart. */
  readonly stableHash: number;
}

export interface SelectionContext {
  readonly now: number;
  readonly random: () => number;
  /** What size of call it is, below `sizes`. */
  readonly sizeClass: number;
  /** Who asks, as a number. */
  readonly affinityHash: number;
  /** What a call like this costs there. Undefined: not known. */
  readonly price: (candidate: Candidate) => number | undefined;
}

/** `seats`: at least one, and all of them well. */
export type Policy = (candidates: readonly Candidate[], context: SelectionContext) => Candidate;
