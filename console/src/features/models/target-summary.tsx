/** The targets of a model in one line: the unhealthy ones first, in words, and the others as dots with their names. */
import type { ModelTarget } from "../../../../contract/admin.ts";
import { type Translate, useT } from "../../i18n/messages.ts";
import { serverText } from "../../i18n/server-text.ts";
import { KindMark } from "../../ui/kind-mark.tsx";
import { isUnused, targetTones } from "./target-state.tsx";

/** More are a number. */
const maxShown = 2;

const dots = {
  good: "bg-good",
  warn: "bg-warn",
  bad: "bg-bad",
  neutral: "ring-1 ring-muted ring-inset",
} as const;
const texts = { good: "", warn: "text-warn", bad: "text-bad", neutral: "" } as const;

type DotTone = keyof typeof dots;

function toneOf(target: ModelTarget): DotTone {
  if (isUnused(target)) return "neutral";
  const tone = targetTones[target.state];
  return tone === "accent" ? "neutral" : tone;
}

const stateOf = (target: ModelTarget, t: Translate): string =>
  t(isUnused(target) ? "target.unused" : `target.${target.state}`);

/** Such as `us-east text-embedding-3-small: Ejected (5 failures in a row)`. */
const lineOf = (target: ModelTarget, t: Translate): string => {
  const { upstream, model, reason, i18n } = target;
  const detail = reason === null ? "" : ` (${serverText(reason, i18n)})`;
  return `${t("text.pair", { name: `${upstream} ${model}`, value: stateOf(target, t) })}${detail}`;
};

export function TargetSummary({ targets }: { targets: readonly ModelTarget[] }) {
  const t = useT();
  const isHealthy = ({ state }: ModelTarget): boolean => state === "healthy";
  const ordered = [...targets.filter((target) => !isHealthy(target)), ...targets.filter(isHealthy)];
  const hidden = ordered.length - maxShown;
  return (
    <span
      className="flex items-center gap-x-2.5 text-xs whitespace-nowrap max-sm:flex-wrap"
      title={ordered.map((target) => lineOf(target, t)).join("\n")}
    >
      {ordered.slice(0, maxShown).map((target) => {
        const tone = toneOf(target);
        return (
          <span
            key={`${target.upstream}/${target.model}/${target.surface ?? ""}`}
            className={`inline-flex items-center gap-1.5 ${texts[tone]}`}
          >
            <span aria-hidden="true" className={`size-2 shrink-0 rounded-full ${dots[tone]}`} />
            <KindMark kind={target.upstream_kind} />
            <span className="max-w-28 truncate">{target.upstream}</span>
            <span className={isHealthy(target) ? "sr-only" : ""}>{stateOf(target, t)}</span>
          </span>
        );
      })}
      {hidden > 0 && <span className="text-muted">+{hidden}</span>}
    </span>
  );
}
