/**
 * How much of a work is done. The element `progress` is for screen readers only: each browser draws it in another way,
 * and without a value it stands still.
 */
import { classNames } from "../lib/class-names.ts";

interface ProgressProps {
  readonly label: string;
  /** From 0 to 1. `undefined`: not known. The bar then moves to and fro. */
  readonly share: number | undefined;
  readonly className?: string;
}

export const Progress = ({ label, share, className }: ProgressProps) => (
  <span className={classNames("block", className)}>
    <progress aria-label={label} max={1} value={share} className="sr-only" />
    <span aria-hidden="true" className="block h-2 overflow-hidden rounded-full bg-sunken">
      <span
        className={classNames(
          "block h-full rounded-full bg-accent",
          share === undefined ? "w-1/4 animate-wait" : "transition-[width] duration-200",
        )}
        style={share === undefined ? undefined : { width: `${share * 100}%` }}
      />
    </span>
  </span>
);
