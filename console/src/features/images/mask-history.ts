/** What was painted on a mask, as a list of steps with undo and redo. */
import type { Point } from "../../lib/viewport.ts";

export type MaskStep =
  | {
      readonly type: "stroke";
      /** In pixels of the image. */
      readonly points: readonly Point[];
      readonly size: number;
      readonly erases: boolean;
    }
  | { readonly type: "invert" }
  | { readonly type: "clear" };

export interface MaskHistory {
  readonly steps: readonly MaskStep[];
  /** Steps that were undone, the last undone one at the end. */
  readonly undone: readonly MaskStep[];
}

export const emptyHistory: MaskHistory = { steps: [], undone: [] };

/** Undone steps are lost when something new is painted. */
export const addStep = ({ steps }: MaskHistory, step: MaskStep): MaskHistory => ({
  steps: [...steps, step],
  undone: [],
});

export function undo({ steps, undone }: MaskHistory): MaskHistory {
  const last = steps.at(-1);
  return last ? { steps: steps.slice(0, -1), undone: [...undone, last] } : { steps, undone };
}

export function redo({ steps, undone }: MaskHistory): MaskHistory {
  const next = undone.at(-1);
  return next ? { steps: [...steps, next], undone: undone.slice(0, -1) } : { steps, undone };
}
