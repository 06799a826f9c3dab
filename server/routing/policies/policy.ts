/**
 * A routing policy (load balancing algorithm) picks one of several available targets. It is a pure function: randomness
 * and clock come with the context.
 */
import type { Target } from "../../upstream/contract.ts";
import type { TargetHealth } from "../health/target-health.ts";

/** A target as a candidate for the requests of one model. */
export interface Candidate {
  readonly target: Target;
  readonly health: TargetHealth;
  /** Lower tiers first; a higher tier only if no target of the lower ones can serve. */
  readonly tier: number;
  readonly weight: number;
  /** For `sticky`: identifies the target, the same after every restart. */
  readonly stableHash: number;
}

export interface SelectionContext {
  readonly now: number;
  readonly random: () => number;
  /** The request's size class, below `sizeClasses`. */
  readonly sizeClass: number;
  /** A hash of the API key for the sticky policy, otherwise 0. */
  readonly affinityHash: number;
  /** The expected price of the request at the candidate. Undefined: not known. */
  readonly price: (candidate: Candidate) => number | undefined;
}

/** `candidates`: at least one, and all of them available. */
export type Policy = (candidates: readonly Candidate[], context: SelectionContext) => Candidate;
