/** A short label whose color says how good a state is. */
import type { ReactNode } from "react";
import { classNames } from "../lib/class-names.ts";

const tones = {
  neutral: "bg-sunken text-muted",
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  accent: "bg-accent-soft text-accent",
} as const;

export type Tone = keyof typeof tones;

export const Badge = ({ tone = "neutral", children }: { tone?: Tone; children: ReactNode }) => (
  <span
    className={classNames(
      "inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap",
      tones[tone],
    )}
  >
    {children}
  </span>
);
