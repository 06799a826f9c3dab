/** The current value of an alert rule with its threshold, and its latest values on a small chart. */
import { useQuery } from "@tanstack/react-query";
import type { AlertEntity, AlertValues } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { Sparkline } from "../../charts/sparkline.tsx";
import { shortTime } from "../../lib/time.ts";
import { WhenNear } from "../../ui/when-near.tsx";
import { useAlertText } from "./alert-text.ts";
import { valueText } from "./rule-text.ts";

/** The gateway measures every minute. */
export const measuredEveryMs = 60_000;
/** A line needs two points. */
const fewestPoints = 2;

export function AlertValue({ alert }: { alert: AlertEntity }) {
  const { t, language } = useAlertText();
  const { current_value: value, measured_at: measuredAt } = alert;
  const { metric, above } = alert.value;
  const when = measuredAt === null ? "" : shortTime(measuredAt, language);
  const hint = measuredAt === null ? t("alerts.notMeasured") : t("alerts.measured", { time: when });
  return (
    <div className="flex w-36 flex-col gap-0.5">
      <span
        title={hint}
        className={value !== null && value > above ? "font-medium text-bad" : undefined}
      >
        {value === null ? "–" : valueText(metric, value)} / {valueText(metric, above)}
      </span>
      {value === null && measuredAt !== null && (
        <span className="text-xs text-muted">{t("alerts.tooFew")}</span>
      )}
      <WhenNear>
        <Chart alert={alert} />
      </WhenNear>
    </div>
  );
}

function Chart({ alert: { id } }: { alert: AlertEntity }) {
  const { data } = useQuery({
    queryKey: ["/alerts", "values", id],
    queryFn: ({ signal }) =>
      call<AlertValues>(`/alerts/${encodeURIComponent(id)}/values`, { signal }),
    refetchInterval: measuredEveryMs,
  });
  if (!data || data.data.length < fewestPoints) return null;
  return <Sparkline values={data.data.map(({ value }) => value)} threshold={data.above} />;
}
