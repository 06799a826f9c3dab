/** What becomes of each of many projects. */
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Progress } from "../../ui/progress.tsx";
import { useManyProjectsText } from "./many-projects-text.ts";

const tones = {
  created: "good",
  changed: "good",
  unchanged: "neutral",
  refused: "bad",
} as const satisfies Readonly<Record<string, Tone>>;

export interface Outcome {
  /** Of a file. */
  readonly line?: number;
  readonly name: string;
  readonly kind: keyof typeof tones;
  /** What changes. */
  readonly changes?: string;
  /** Of a refusal. */
  readonly reason?: string;
}

export function Outcomes({ outcomes }: { outcomes: readonly Outcome[] }) {
  const t = useManyProjectsText();
  const counts = (Object.keys(tones) as (keyof typeof tones)[])
    .map((kind) => ({ kind, count: outcomes.filter((outcome) => outcome.kind === kind).length }))
    .filter(({ count }) => count > 0);
  return (
    <>
      <p role="status" className="mb-2">
        {counts.map(({ kind, count }) => t(`many.count.${kind}`, { count })).join(", ")}
      </p>
      <ul
        aria-label={t("many.outcomes")}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
        tabIndex={0}
        className="max-h-[50dvh] overflow-y-auto rounded-md border border-line"
      >
        {outcomes.map(({ line, name, kind, changes, reason }) => (
          <li
            key={`${line} ${name}`}
            className="flex flex-wrap items-baseline justify-between gap-x-3 border-t border-line px-3 py-1.5 first:border-t-0"
          >
            <span className="min-w-0 break-words">
              {line !== undefined && (
                <span className="mr-2 text-xs text-muted">{t("import.line", { line })}</span>
              )}
              {name}
            </span>
            <Badge tone={tones[kind]}>{t(`many.${kind}`)}</Badge>
            {changes !== undefined && <p className="w-full text-sm text-muted">{changes}</p>}
            {reason !== undefined && <p className="w-full text-sm text-bad">{reason}</p>}
          </li>
        ))}
      </ul>
    </>
  );
}

/** While they are sent one after the other. */
export function SentChanges({ done, count }: { done: number; count: number }) {
  const t = useManyProjectsText();
  return (
    <div className="flex items-center gap-2" role="status">
      <Progress label={t("many.sending")} share={done / count} className="grow" />
      <span className="tabular-nums">{t("many.running", { done, count })}</span>
    </div>
  );
}
