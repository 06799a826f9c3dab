/** The overview: totals, charts, and conditions that need attention. */
import type { UsageInterval, UsageRow, UsageSums } from "./usage.ts";

export interface Overview {
  readonly object: "overview";
  readonly from: string;
  readonly to: string;
  readonly interval: UsageInterval;
  readonly totals: UsageSums;
  /** One row per period with requests, the oldest first. */
  readonly series: readonly UsageRow[];
  readonly attention: readonly AttentionItem[];
  readonly guide: FirstRunGuide;
}

/** The first steps with a new gateway, and which of them are done. */
export interface FirstRunGuide {
  readonly has_key: boolean;
  readonly has_request: boolean;
  readonly has_upstream: boolean;
}

/** A condition that needs attention, and where it is fixed. */
export interface AttentionItem {
  readonly type:
    | "target_unhealthy"
    | "budget_exhausted"
    | "budget_nearly_exhausted"
    | "key_expiring"
    | "config_rejected"
    | "ledger_unwritable"
    | "model_ending";
  readonly severity: "warning" | "error";
  readonly subject: string;
  readonly detail: string;
  /** A path of the console, such as `/upstreams`. */
  readonly link: string;
}
