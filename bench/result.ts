/** The result of a bench scenario: its figures, and whether they meet their targets. */

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
  // NaN does not meet a target.
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

export interface ScenarioResult {
  /** For people: the measurement, its method, and the figures. */
  readonly text: string;
  /** For programs: the same figures. */
  readonly figures: unknown;
  readonly verdicts: readonly Verdict[];
}
