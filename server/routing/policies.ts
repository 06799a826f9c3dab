/**
 * Routing policies: weighted routing, least request (power of two choices), lowest cost routing, and sticky routing of
 * an API key by consistent hashing. Each picks one of several available targets. A policy is a pure function:
 * randomness and clock come with the context.
 */
import type { PolicyName } from "../config/snapshot.ts";
import type { Target } from "../upstream/contract.ts";
import type { TargetHealth } from "./health/target-health.ts";

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
  /** The expected price of the request at the candidate. Undefined if not known. */
  readonly price: (candidate: Candidate) => number | undefined;
}

/** `candidates`: at least one, and all of them available. */
export type Policy = (candidates: readonly Candidate[], context: SelectionContext) => Candidate;

/** Routing policy `weighted`: random, in proportion to the weights. */
const weighted: Policy = (candidates, { random }) => selectWeighted(candidates, random, undefined);

/** `except`: excluded if there is another candidate. */
function selectWeighted(
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

/** Smaller differences are noise: then the weights decide, and all targets keep being measured. */
const noiseFactor = 1.5;

/**
 * Routing policy `p2c`, power of two choices (least request): of two random candidates, the one with less load
 * (requests in flight times mean latency). That is nearly as good as comparing all candidates, avoids sending all
 * requests to the same one, and moves away from a hanging target long before requests time out.
 */
export const p2c: Policy = (candidates, context) => {
  if (candidates.length === 1) return candidates[0] as Candidate;
  const { random } = context;
  const one = selectWeighted(candidates, random, undefined);
  const two = selectWeighted(candidates, random, one);
  return isLessLoaded(two, one, context) ? two : one;
};

function isLessLoaded(a: Candidate, b: Candidate, { now, sizeClass }: SelectionContext): boolean {
  const [aMs, bMs] = [
    a.health.latency.meanMs(now, sizeClass),
    b.health.latency.meanMs(now, sizeClass),
  ];
  // While one latency is not known, both count as equally fast.
  const known = aMs !== undefined && bMs !== undefined;
  const forA = relativeLoad(a) * (known ? Math.max(aMs, leastMs) : 1);
  const forB = relativeLoad(b) * (known ? Math.max(bMs, leastMs) : 1);
  return forA * noiseFactor < forB;
}

/** Below this the clock and the event loop take longer than the target. */
const leastMs = 1;

/** Failures do not count here: a target that is avoided for them would never be seen to recover. */
const relativeLoad = ({ health, weight }: Candidate): number => 1 + health.inFlight / weight;

/** Routing policy `cost`: the lowest price; power of two choices among equal prices; unknown prices come last. */
const cost: Policy = (candidates, context) => {
  let least = Number.POSITIVE_INFINITY;
  let cheapestCandidates: Candidate[] = [];
  for (const candidate of candidates) {
    const price = context.price(candidate) ?? Number.POSITIVE_INFINITY;
    if (price > least) continue;
    if (price < least) cheapestCandidates = [];
    least = price;
    cheapestCandidates.push(candidate);
  }
  return p2c(cheapestCandidates, context);
};

/**
 * Routing policy `sticky` (consistent hashing): each API key stays with one target as long as it serves, and the keys
 * are distributed by weight. When a target is added or removed, only its own keys move (weighted rendezvous hashing,
 * Schindelhauer and Schomaker).
 */
const sticky: Policy = (candidates, { affinityHash }) => {
  let best = candidates[0] as Candidate;
  let highest = Number.NEGATIVE_INFINITY;
  for (const candidate of candidates) {
    const score = -candidate.weight / Math.log(hashToUnit(affinityHash, candidate.stableHash));
    if (score <= highest) continue;
    highest = score;
    best = candidate;
  }
  return best;
};

/**
 * Hashes two numbers to the open interval (0, 1), uncorrelated for neighboring inputs: the finalizer of MurmurHash3.
 */
function hashToUnit(a: number, b: number): number {
  let hash = Math.imul(a ^ Math.imul(b, 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (((hash ^ (hash >>> 16)) >>> 0) + 0.5) / 0x1_0000_0000;
}

/** The routing policies by their names in the configuration. */
export const policies: Readonly<Record<PolicyName, Policy>> = {
  p2c,
  weighted,
  cost,
  sticky,
};
