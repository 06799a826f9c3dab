/**
 * Evaluates the alert rules: one process at a time (a lease in the store), every minute. A rule fires once when its
 * value is above the bound, and is resolved once when it is known not to be. The state is stored before the event is
 * emitted, and an event that was not recorded is emitted again with the same deduplication key.
 */
import type { Emit, EventData } from "../../../contract/events.ts";
import type { AlertRule } from "../../config/snapshot.ts";
import type { LedgerFilter, LedgerQueries } from "../../storage/ports/ledger-queries.ts";
import type { AlertStore, StoredAlert } from "../../storage/sql/alert-store.ts";
import { type Measured, measureRequests, measureTargets, type RuleTarget } from "./measure-rule.ts";
import { createRequestWindow } from "./request-window.ts";

export interface AlertSources {
  readonly queries: Pick<LedgerQueries, "usage">;
  /** The health of the targets, of all replicas together. */
  readonly targets: () => Promise<readonly RuleTarget[]>;
}

interface AlertsOptions extends AlertSources {
  readonly store: AlertStore;
  readonly rules: () => ReadonlyMap<string, AlertRule>;
  readonly emit: Emit;
  /** Waits until emitted events are recorded. False: recording failed. */
  readonly flush: () => Promise<boolean>;
  /** The id of this process. */
  readonly owner: string;
  /** Unix milliseconds. Replicas share the clock of their database. */
  readonly now: () => number;
}

type AlertData = EventData["alert.firing"];

/** Longer than the interval: another process takes over after two evaluations that did not take place. */
const leaseMs = 150_000;

export function createAlerts(options: AlertsOptions) {
  const { store, rules, emit, flush, owner, queries, targets, now } = options;
  const windows = new Map<string, ReturnType<typeof createRequestWindow>>();
  let running: Promise<void> | undefined;
  /** The first evaluation of this process. */
  let startedAt: number | undefined;

  const windowOf = (rule: AlertRule) => {
    // A changed filter or window starts with no samples.
    const key = JSON.stringify([rule.name, rule.minutes, filterOf(rule)]);
    const window = windows.get(key) ?? createRequestWindow(queries);
    windows.set(key, window);
    return { key, window };
  };

  /** False: the event is not recorded. The next evaluation announces it again, perhaps that of another process. */
  const announce = async (alert: StoredAlert): Promise<boolean> => {
    const type = alert.isFiring ? "alert.firing" : "alert.resolved";
    const data = alert.data as unknown as AlertData;
    emit({ type, data, deduplicationKey: `${type} ${alert.name} ${alert.since}` });
    const isRecorded = await flush();
    if (isRecorded) await store.put({ ...alert, isAnnounced: true });
    return isRecorded;
  };

  const evaluateRule = async (
    rule: AlertRule,
    before: StoredAlert | undefined,
    at: number,
  ): Promise<void> => {
    const { value, highest } = await measure(rule, at);
    const isAbove = (measured: number | null): boolean =>
      measured !== null && measured > rule.above;
    const wasFiring = before?.isFiring ?? false;
    // What is not known, as after a start, resolves nothing.
    const isFiring = isAbove(value) || (wasFiring && isAbove(highest));
    if (isFiring === wasFiring) {
      if (before && !before.isAnnounced) await announce(before);
      return;
    }
    const since = isFiring ? at : sinceOf(before, at);
    const data = { ...dataOf(rule, value, since) };
    const changed = { name: rule.name, isFiring, since: at, isAnnounced: false, data };
    await store.put(changed);
    await announce(changed);
  };

  const measure = async (rule: AlertRule, at: number): Promise<Measured> => {
    if (rule.metric === "unhealthy_targets") {
      const isStarting = at - (startedAt ?? at) < rule.minutes * 60_000;
      return measureTargets(rule, await targets(), isStarting);
    }
    const { window } = windowOf(rule);
    return measureRequests(rule, await window(filterOf(rule), rule.minutes, at));
  };

  /** The rule of the alert was deleted, perhaps while it fired. */
  const resolveDeleted = async (alert: StoredAlert, at: number): Promise<void> => {
    const data = { ...alert.data, value: null };
    const resolved = alert.isFiring
      ? { ...alert, isFiring: false, since: at, isAnnounced: false, data }
      : alert;
    if (alert.isFiring) await store.put(resolved);
    if (resolved.isAnnounced || (await announce(resolved))) await store.delete(alert.name);
  };

  const evaluateAll = async (): Promise<void> => {
    const at = now();
    startedAt ??= at;
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
