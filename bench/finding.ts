/** What a part of the bench found out, and whether that is what it should be. */

export interface Verdict {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly bound: "<=" | ">=";
  readonly target: number;
  readonly met: boolean;
}

export const atMost = (name: string, value: number, target: number, unit: string): Verdict => ({
  name,
  value,
  unit,
  bound: "<=",
  target,
  // Not a number is not met either.
  met: value <= target,
});

export const atLeast = (name: string, value: number, target: number, unit: string): Verdict => ({
  name,
  value,
  unit,
  bound: ">=",
  target,
  met: value >= target,
});

export interface Finding {
  /** For people: what was measured, how, and the figures. */
  readonly text: string;
  /** For machines: the same figures. */
  readonly figures: unknown;
  readonly verdicts: readonly Verdict[];
}
