/** Alert rules and their values as people read them. */
import type { AlertEntity } from "../../../../contract/admin.ts";
import { shortDollars } from "../../lib/format.ts";
import type { AlertText } from "./alert-text.ts";

const units = {
  error_rate: (value: number) => `${value}%`,
  latency_p95: (value: number) => `${value} ms`,
  spend: shortDollars,
  unhealthy_targets: String,
} as const;

export const valueText = (metric: AlertEntity["value"]["metric"], value: number): string =>
  units[metric](value);

const defaultMinutes = 15;

/** Such as `Error rate > 5% in 15 minutes`. */
export function ruleText(value: AlertEntity["value"], t: AlertText): string {
  const { metric, above, minutes = defaultMinutes } = value;
  const bound = `${t(`alerts.metric.${metric}`)} > ${valueText(metric, above)}`;
  const isWholeHours = minutes % 60 === 0;
  const span = isWholeHours
    ? t("alerts.hours", { count: minutes / 60 })
    : t("alerts.window", { count: minutes });
  return metric === "unhealthy_targets" ? bound : `${bound} ${span}`;
}
