/** The sums of the overview's time range: requests, error rate, refused requests, latency, cost, tokens, images, cache hit rate. */
import type { UsageSums } from "../../../../contract/admin.ts";
import { errorRate, refusedShare } from "../../api/outcomes.ts";
import { useT } from "../../i18n/messages.ts";
import { count, dollars, milliseconds, percent } from "../../lib/format.ts";

export function Totals({ totals }: { totals: UsageSums }) {
  const t = useT();
  const hitRate = totals.inputs === 0 ? null : totals.cached_inputs / totals.inputs;
  const figures: readonly [string, string][] = [
    [t("figure.requests"), count(totals.requests)],
    [t("figure.errors"), percent(errorRate(totals))],
    [t("figure.refused"), percent(refusedShare(totals))],
    [t("figure.p95"), milliseconds(totals.latency_p95_ms)],
    [t("figure.cost"), dollars(totals.charged)],
    [t("figure.tokens"), count(totals.input_tokens + totals.output_tokens)],
    [t("figure.images"), count(totals.images)],
    [t("figure.hitRate"), percent(hitRate)],
  ];
  return (
    <dl className="grid grid-cols-2 gap-3 sm:grid-cols-4">
      {figures.map(([name, value]) => (
        <div key={name} className="rounded-lg border border-line bg-surface p-4">
          <dt className="text-xs text-muted">{name}</dt>
          <dd className="mt-1 text-xl font-semibold tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
