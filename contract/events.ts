/**
 * The event table: records and webhook payloads are derived from it, and a test compares docs/observability.md with it.
 */

import type { AlertMetric } from "./admin/constants.ts";

/** The `data` of each event type. Names are those of the ledger and the log. Never an API key, prompt or image. */
export interface EventData {
  "budget.threshold": {
    readonly scope: "key" | "project" | "tag";
    readonly id: string;
    readonly name: string;
    /** Of a tag. */
    readonly project?: string;
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
  "alert.firing": AlertEventData;
  "alert.resolved": AlertEventData;
  "key.created": KeyEventData & { readonly models: readonly string[] };
  "key.revoked": KeyEventData;
  "key.expiring": KeyEventData & { readonly expires_at: string };
  "config.reloaded": { readonly changes: string };
  "config.rejected": { readonly problems: readonly string[] };
  "ledger.unwritable": { readonly reason: string; readonly policy: "refuse" | "serve" };
  "ledger.recovered": { readonly reason: string };
  "database.unavailable": { readonly reason: string };
  "database.recovered": { readonly reason: string };
  "redis.unavailable": { readonly reason: string; readonly replicas: number };
  "redis.recovered": { readonly replicas: number };
  "object_store.unavailable": { readonly reason: string };
  "object_store.recovered": Readonly<Record<string, never>>;
  "webhook.test": { readonly webhook: string };
}

interface TargetEventData {
  readonly upstream: string;
  /** The upstream's own name for the model. */
  readonly target_model: string;
  readonly reason: string;
}

interface AlertEventData {
  readonly name: string;
  readonly metric: AlertMetric;
  /** Percent of requests, milliseconds, US dollars, or a number of targets. `null`: too few requests to judge. */
  readonly value: number | null;
  readonly above: number;
  /** The window over which requests are counted. */
  readonly minutes: number;
  readonly model: string | null;
  readonly project: string | null;
  readonly upstream: string | null;
  /** When the alert began to fire. */
  readonly since: string;
  /** Present if the rule was silenced: no webhook got the event. */
  readonly silenced_until?: string;
  /** Present if the rule names its receivers. */
  readonly receivers?: readonly string[];
}

interface KeyEventData {
  readonly id: string;
  readonly name: string;
  /** Absent if the key has none. */
  readonly project?: string;
}

export type EventType = keyof EventData;

export interface EmittedEvent<T extends EventType> {
  readonly type: T;
  readonly data: EventData[T];
  /** For an event that occurs once, such as a threshold in one month: a second one with this key is not recorded. */
  readonly deduplicationKey?: string;
}

/** Records an event: the only part of events that other features use. */
export type Emit = <T extends EventType>(emitted: EmittedEvent<T>) => void;

/** When each event occurs, for people. docs/observability.md has the same sentences. */
export const eventTypes = {
  "budget.threshold": "An API key, a project or a tag has spent 50, 80 or 100 percent of a budget.",
  "target.ejected": "The circuit breaker of a target opened.",
  "target.recovered": "The target is used again.",
  "target.drifted": "A target's vectors differ from those of the model's first target.",
  "target.realigned": "The target's vectors match again.",
  "alert.firing": "A value is above the bound of an alert rule.",
  "alert.resolved": "The value is no longer above its bound, or the rule was deleted.",
  "key.created": "An API key was created.",
  "key.revoked": "An API key was revoked.",
  "key.expiring": "An API key expires within a week.",
  "config.reloaded":
    "The configuration or the TLS certificate changed, and the change is in force.",
  "config.rejected":
    "The configuration file, or the TLS certificate, has an error; the previous one stays in force.",
  "ledger.unwritable": "Ledger rows cannot be written.",
  "ledger.recovered": "Ledger rows can be written again.",
  "database.unavailable": "The database cannot be reached. Ledger rows wait in the data folder.",
  "database.recovered": "The database can be reached again, and has the waiting ledger rows.",
  "redis.unavailable":
    "Redis cannot be used. Each replica applies its share of the limits and budgets.",
  "redis.recovered": "Redis can be used again.",
  "object_store.unavailable":
    "The object store cannot be used. Images are delivered as base64, and links of stored images fail.",
  "object_store.recovered": "The object store can be used again.",
  "webhook.test": "A test of one webhook was requested. It is not recorded.",
} as const satisfies Readonly<Record<EventType, string>>;

/** Events of the jobs of a project. The webhook endpoints of the project get them, in OpenAI's form. */
export const jobEventTypes = [
  "batch.completed",
  "batch.failed",
  "batch.expired",
  "batch.cancelled",
  "image.job.completed",
  "image.job.failed",
  "image.job.cancelled",
] as const;

export type JobEventType = (typeof jobEventTypes)[number];

export interface JobEvent {
  readonly type: JobEventType;
  /** The owner of the job (`auth/owner.ts`). */
  readonly owner: string;
  /** The id of the job. */
  readonly id: string;
  /** The webhook endpoint that the job names. The default is all endpoints of the owner that subscribe to the type. */
  readonly webhook?: string;
}

/** Records the event of a job for the webhook endpoints of its owner, once per type and job. Rejects if it cannot. */
export type RecordJobEvent = (event: JobEvent) => Promise<void>;
