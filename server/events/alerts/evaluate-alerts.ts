/**
 * Evaluates the alert rules: one process at a time (a lease in the store), every minute. A rule fires once when its
 * value is above the bound, and is resolved once when it is not. The state is stored before the event is emitted, and
 * an event that was not recorded is emitted again with the same deduplication key.
 */
import type { Emit, EventData } from "../../../contract/events.ts";
import type { AlertRule } from "../../config/snapshot.ts";
import { latencyPercentile } from "../../storage/latency-percentile.ts";
import type { LedgerFilter, LedgerQueries } from "../../storage/ports/ledger-queries.ts";
import type { AlertStore, StoredAlert } from "../../storage/sql/alert-store.ts";
import { createRequestWindow, type WindowSums } from "./request-window.ts";

/** The health of a target, of all replicas together. */
interface TargetHealth {
  readonly upstream: string;
  /** The models of clients that it serves. */
  readonly models: readonly string[];
  readonly state: string;
}

export interface AlertSources {
  readonly queries: Pick<LedgerQueries, "usage">;
  readonly targets: () => Promise<readonly TargetHealth[]>;
}

interface AlertsOptions extends AlertSources {
  readonly store: AlertStore;
  readonly rules: () => ReadonlyMap<string, AlertRule>;
  readonly emit: Emit;
  /** Waits until emitted events are recorded. */
  readonly flush: () => Promise<void>;
  /** The id of this process. */
  readonly owner: string;
  /** Unix milliseconds. Replicas share the clock of their database. */
  readonly now: () => number | Promise<number>;
}

type AlertData = EventData["alert.firing"];

/** Longer than the interval: another process takes over after two evaluations that did not take place. */
const leaseMs = 150_000;

export function createAlerts(options: AlertsOptions) {
  const { store, rules, emit, flush, owner, queries, targets, now } = options;
  const windows = new Map<string, ReturnType<typeof createRequestWindow>>();
  let running: Promise<void> | undefined;

  const windowOf = (rule: AlertRule) => {
    // A changed filter or window starts with no samples.
    const key = JSON.stringify([rule.name, rule.minutes, filterOf(rule)]);
    const window = windows.get(key) ?? createRequestWindow(queries);
    windows.set(key, window);
    return { key, window };
  };

  const announce = async (alert: StoredAlert): Promise<void> => {
    const type = alert.isFiring ? "alert.firing" : "alert.resolved";
    const data = alert.data as unknown as AlertData;
    emit({ type, data, deduplicationKey: `${type} ${alert.name} ${alert.since}` });
    await flush();
    await store.put({ ...alert, isAnnounced: true });
  };

  const evaluateRule = async (
    rule: AlertRule,
    before: StoredAlert | undefined,
    at: number,
  ): Promise<void> => {
    const value = await measure(rule, at);
    const isFiring = value !== null && value > rule.above;
    if (isFiring === (before?.isFiring ?? false)) {
      if (before && !before.isAnnounced) await announce(before);
      return;
    }
    const since = isFiring ? at : sinceOf(before, at);
    const data = { ...dataOf(rule, value, since) };
    const changed = { name: rule.name, isFiring, since: at, isAnnounced: false, data };
    await store.put(changed);
    await announce(changed);
  };

  const measure = async (rule: AlertRule, at: number): Promise<number | null> => {
    if (rule.metric === "unhealthy_targets") {
      return (await targets()).filter((target) => isUnhealthy(target, rule)).length;
    }
    const { window } = windowOf(rule);
    return measuredValue(rule, await window(filterOf(rule), rule.minutes, at));
  };

  /** A rule that was deleted while it fired. */
  const resolveDeleted = async (alert: StoredAlert, at: number): Promise<void> => {
    if (alert.isFiring) {
      const data = { ...alert.data, value: null };
      await announce({ ...alert, isFiring: false, since: at, isAnnounced: false, data });
    }
    await store.delete(alert.name);
  };

  const evaluateAll = async (): Promise<void> => {
    const at = await now();
    const current = rules();
    // Without rules, and without a state of an earlier one, nothing is written.
    const stored = new Map((await store.list()).map((alert) => [alert.name, alert]));
    if (current.size === 0 && stored.size === 0) return;
    if (!(await store.claim(owner, at, at + leaseMs))) return windows.clear();
    const deleted = [...stored.values()].filter(({ name }) => !current.has(name));
    for (const alert of deleted) await resolveDeleted(alert, at);
    for (const rule of current.values()) await evaluateRule(rule, stored.get(rule.name), at);
    forgetOthers([...current.values()]);
  };

  /** Rules that were changed or deleted keep no samples. */
  const forgetOthers = (current: readonly AlertRule[]): void => {
    const used = new Set(current.map((rule) => windowOf(rule).key));
    for (const key of windows.keys()) if (!used.has(key)) windows.delete(key);
  };

  return {
    /** One evaluation at a time. */
    evaluate(): Promise<void> {
      running ??= evaluateAll().finally(() => {
        running = undefined;
      });
      return running;
    },
    list: () => store.list(),
  };
}

export type Alerts = ReturnType<typeof createAlerts>;

const filterOf = ({ model, project, upstream }: AlertRule): LedgerFilter => ({
  ...(model !== undefined && { model }),
  ...(project !== undefined && { project }),
  ...(upstream !== undefined && { upstream }),
});

const isUnhealthy = (target: TargetHealth, { upstream, model }: AlertRule): boolean =>
  target.state !== "healthy" &&
  (upstream === undefined || target.upstream === upstream) &&
  (model === undefined || target.models.includes(model));

/** Null: too few requests to judge. */
function measuredValue({ metric, minRequests }: AlertRule, sums: WindowSums): number | null {
  if (metric === "spend") return sums.cost;
  if (sums.requests < minRequests) return null;
  return metric === "error_rate"
    ? (100 * sums.errors) / sums.requests
    : latencyPercentile(sums.latencyHistogram, 0.95);
}

const dataOf = (rule: AlertRule, value: number | null, since: number): AlertData => ({
  name: rule.name,
  metric: rule.metric,
  value: value === null ? null : Number(value.toPrecision(6)),
  above: rule.above,
  minutes: rule.minutes,
  model: rule.model ?? null,
  project: rule.project ?? null,
  upstream: rule.upstream ?? null,
  since: new Date(since).toISOString(),
});

/** When an alert that is resolved now began to fire. */
const sinceOf = (before: StoredAlert | undefined, at: number): number => before?.since ?? at;
