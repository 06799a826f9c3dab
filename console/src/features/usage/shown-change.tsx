/** The change of a figure against the time before. */
import { ArrowDownRight, ArrowUpRight } from "lucide-react";
import { useT } from "../../i18n/messages.ts";
import { classNames } from "../../lib/class-names.ts";
import { changeOf, changeOfRate } from "./change.ts";

export interface ShownChangeProps {
  readonly now: number | null;
  readonly before: number | null;
  /** More is worse: errors and latency. */
  readonly isWorse: boolean;
  readonly isRate: boolean;
  /** The earlier value and its time. */
  readonly text: string;
}

export const isKnownChange = ({ now, before, isRate }: ShownChangeProps): boolean =>
  (isRate ? changeOfRate(now, before) : changeOf(now, before)) !== undefined;

export function ShownChange({ now, before, isWorse, isRate, text }: ShownChangeProps) {
  const t = useT();
  const change = isRate ? changeOfRate(now, before) : changeOf(now, before);
  if (change === undefined) return <span className="text-muted">{t("usage.noChange")}</span>;
  const Arrow = change.isUp ? ArrowUpRight : ArrowDownRight;
  const tone = change.isUp ? "text-bad" : "text-good";
  return (
    <span
      className={classNames(
        "inline-flex items-center gap-0.5 tabular-nums",
        isWorse && !change.isSame ? tone : "text-muted",
      )}
    >
      {!change.isSame && <Arrow className="size-3" aria-hidden="true" />}
      {isRate ? t("usage.points", { points: change.text }) : change.text}
      <span className="sr-only"> {text}</span>
    </span>
  );
}
