/** Every event: changes people wait for. The one table from which records, webhooks and docs/observability.md follow. */

/** What each type tells, beside when it happened. Names as in the ledger and the log; never a key, prompt or picture. */
export interface EventData {
  "budget.threshold": {
    readonly scope: "key" | "project";
    readonly id: string;
    readonly name: string;
    readonly period: "day" | "month" | "total";
    readonly percent: 50 | 80 | 100;
    /** US dollars. */
    readonly spent: number;
    readonly budget: number;
  };
  "target.ejected": TargetEventData;
  "target.recovered": TargetEventData;
  "target.drifted": TargetEventData & { readonly model: string };
  "target.realigned": TargetEventData & { readonly model: string };
  "key.created": KeyEventData & { readonly models: readonly string[] };
  "key.revoked": KeyEventData;
  "key.expiring": KeyEventData & { readonly expires_at: string };
  "config.reloaded": { readonly what: string };
  "config.rejected": { readonly problems: readonly string[] };
  "ledger.unwritable": { readonly reason: string; readonly policy: "refuse" | "serve" };
  "ledger.recovered": { readonly reason: string };
  "webhook.test": { readonly webhook: string };
}

interface TargetEventData {
  readonly upstream: string;
  /** The upstream's own name for the model. */
  readonly target_model: string;
  readonly reason: string;
}

interface KeyEventData {
  readonly id: string;
  readonly name: string;
}

export type EventType = keyof EventData;

/** When each happens, for people. */
export const eventTypes = {
  "budget.threshold": "A key or a project has spent 50, 80 or 100 percent of a budget.",
  "target.ejected": "A target fails too often and is not asked for a while.",
  "target.recovered": "It answers again, and is asked again.",
  "target.drifted": "A target's vectors are not those of the model's first target.",
  "target.realigned": "They are again.",
  "key.created": "A key was made on the command line.",
  "key.revoked": "A key was revoked on the command line.",
  "key.expiring": "A key will soon stop working.",
  "config.reloaded": "The configuration file changed and is in force.",
  "config.rejected": "The configuration file has a mistake; the old one stays in force.",
  "ledger.unwritable": "Rows of the ledger cannot be written.",
  "ledger.recovered": "They can again.",
  "webhook.test":
    "Somebody asked for a test of a webhook. It is sent to that one alone, and not recorded.",
} as const satisfies Readonly<Record<EventType, string>>;
