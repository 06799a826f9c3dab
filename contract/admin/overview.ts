/** The overview: totals, charts, and conditions that need attention. */
import type { UsageRow } from "./usage.ts";

/** What the overview shows, from the roll-ups and the counters in memory. */
export interface Overview {
  readonly object: "overview";
  readonly from: string;
  readonly to: string;
  readonly totals: Omit<UsageRow, "object" | "start" | "group">;
  readonly series: readonly UsageRow[];
  readonly attention: readonly AttentionItem[];
}

/** Something that an operator should look at, and where it is mended. */
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
  /** A path of the console, such as `/upstreams/openai`. */
  readonly link: string;
}
