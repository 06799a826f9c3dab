/** Constants of the admin API. Without zod: the console loads them with its first page. */

/** Shown instead of the value of a secret setting. */
export const secretMask = "********";

/** Of new passwords. */
export const minPasswordLength = 12;

export const settingGroups = [
  "network",
  "storage",
  "console",
  "sign_in",
  "alerts",
  "observability",
  "limits",
  "timeouts",
  "cache",
  "ledger",
  "images",
  "jobs",
] as const;
export type SettingGroup = (typeof settingGroups)[number];

export const alertMetrics = ["error_rate", "latency_p95", "spend", "unhealthy_targets"] as const;
export type AlertMetric = (typeof alertMetrics)[number];

/** How an event is written for its receiver. E-mail is chosen by a `mailto:` URL. */
export const webhookFormats = ["standard", "slack", "teams"] as const;

export const policyNames = ["p2c", "weighted", "cost", "sticky"] as const;

/**
 * What decided the selection of a target: a routing policy, or one of these. `only`: there was no other to choose from.
 * `probe`: it was ejected, and the request shows whether it has recovered. `unhealthy`: no target was healthy.
 * `failover`: an attempt at another target failed. `retry`: an attempt failed, and no other target was left. `hedge`: an
 * attempt at another target was slow.
 */
export const selectionReasons = [
  ...policyNames,
  "only",
  "probe",
  "unhealthy",
  "failover",
  "retry",
  "hedge",
] as const;
export type SelectionReason = (typeof selectionReasons)[number];

export const connectionSteps = ["dns", "tcp", "tls", "http", "credential"] as const;

export const usageDimensions = [
  "model",
  "key",
  "project",
  "upstream",
  "target",
  "status",
  "user",
  "tag",
  "end_user",
] as const;
export type UsageDimension = (typeof usageDimensions)[number];

export const usageIntervals = ["hour", "day", "month", "total"] as const;

/** Where the lines of batches run: as requests now, in batches of the vendor, or where it costs less. */
export const batchExecutions = ["now", "vendor", "cheapest"] as const;
