/** What became of each of many changes. */
import { Badge, type Tone } from "../../ui/badge.tsx";
import { useManyProjectsText } from "./many-projects-text.ts";

export interface Outcome {
  readonly name: string;
  readonly kind: "changed" | "unchanged" | "refused";
  /** Of a refusal. */
  readonly reason?: string;
}

const tones: Readonly<Record<Outcome["kind"], Tone>> = {
  changed: "good",
  unchanged: "neutral",
  refused: "bad",
};

interface OutcomesProps {
  readonly outcomes: readonly Outcome[];
  /** Of all changes, also of those that have not been sent. */
  readonly count: number;
}

export function Outcomes({ outcomes, count }: OutcomesProps) {
  const t = useManyProjectsText();
  const countOf = (kind: Outcome["kind"]): number =>
    outcomes.filter((outcome) => outcome.kind === kind).length;
  const done = outcomes.length;
  return (
    <>
      <p role="status" className="mb-2">
        {done < count
          ? t("many.running", { done, count })
          : t("many.done", {
              changed: countOf("changed"),
              unchanged: countOf("unchanged"),
              refused: countOf("refused"),
            })}
      </p>
      <ul
        aria-label={t("many.outcomes")}
        className="max-h-[50dvh] overflow-y-auto rounded-md border border-line"
      >
        {outcomes.map(({ name, kind, reason }) => (
          <li
            key={name}
            className="flex flex-wrap items-baseline justify-between gap-x-3 border-t border-line px-3 py-1.5 first:border-t-0"
          >
            <span className="min-w-0 break-words">{name}</span>
            <Badge tone={tones[kind]}>{t(`many.${kind}`)}</Badge>
            {reason !== undefined && <p className="w-full text-sm text-bad">{reason}</p>}
          </li>
        ))}
      </ul>
    </>
  );
}
