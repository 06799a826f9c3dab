/**
 * Evaluates the alert rules: one process at a time (a lease in the store), every minute. A rule fires once when its
 * value is above the bound, and is resolved once when it is known not to be. The state is stored before the event is
 * emitted, and an event that was not recorded is emitted again with the same deduplication key. The latest values of
 * each rule are stored with its state, for every replica to show. While a rule is silenced, its events are recorded and
 * no webhook gets them; afterwards its receivers get the state if it is not the one that they know.
 */
import type { Emit, EventData } from "../../../contract/events.ts";
import type { AlertRule } from "../../config/snapshot.ts";
import type { LedgerFilter, LedgerQueries } from "../../storage/ports/ledger-queries.ts";
import type { AlertStore, Silence, StoredAlert } from "../../storage/sql/alert-store.ts";
import { type Measured, measureRequests, measureTargets, type RuleTarget } from "./measure-rule.ts";
import { shortNumber, withValue } from "./recent-values.ts";
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

interface RuleState {
  /** The state of the last evaluation. */
  readonly before: StoredAlert | undefined;
  readonly silence: Silence | undefined;
  /** Unix milliseconds. */
  readonly at: number;
}

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

  /**
   * The next evaluation announces an event again that is not recorded, perhaps that of another process. `to`: the state
   * of the alert once it is.
   */
  const announce = async (
    alert: StoredAlert,
    silence: Silence | undefined,
    to: StoredAlert["announced"] = silence ? "silenced" : "yes",
  ): Promise<boolean> => {
    const type = alert.isFiring ? "alert.firing" : "alert.resolved";
    const data = {
      ...(alert.data as unknown as AlertData),
      ...(silence && { silenced_until: new Date(silence.until).toISOString() }),
    };
    // After a silence, the same change is recorded once more: for the receivers.
    const suffix = silence ? " silenced" : "";
    emit({ type, data, deduplicationKey: `${type} ${alert.name} ${alert.since}${suffix}` });
    const isRecorded = await flush();
    if (isRecorded) await store.put({ ...alert, announced: to });
    return isRecorded;
  };

  const evaluateRule = async (
    rule: AlertRule,
    { before, silence, at }: RuleState,
  ): Promise<void> => {
    const { value, highest } = await measure(rule, at);
    const isAbove = (measured: number | null): boolean =>
      measured !== null && measured > rule.above;
    const wasFiring = before?.isFiring ?? false;
    // What is not known, as after a start, resolves nothing.
    const isFiring = isAbove(value) || (wasFiring && isAbove(highest));
    const values = withValue(rule, before?.values, { at, value });
    if (isFiring === wasFiring) {
      const same = { ...(before ?? neverFired(rule.name)), values };
      await store.put(same);
      if (isDue(same, silence)) await announce(same, silence);
      return;
    }
    const since = isFiring ? at : sinceOf(before, at);
    const data = { ...dataOf(rule, value, since) };
    const { name } = rule;
    const changed: StoredAlert = { name, isFiring, since: at, announced: "no", data, values };
    await store.put(changed);
    // Of two changes within one silence, the receivers need to know neither.
    const isBack = silence && before?.announced === "silenced";
    await announce(changed, silence, isBack ? "yes" : undefined);
  };

  const measure = async (rule: AlertRule, at: number): Promise<Measured> => {
    if (rule.metric === "unhealthy_targets") {
      const isStarting = at - (startedAt ?? at) < rule.minutes * 60_000;
      return measureTargets(rule, await targets(), isStarting);
    }
    const { window } = windowOf(rule);
    return measureRequests(rule, await window(filterOf(rule), rule.minutes, at));
  };

  /** The rule of the alert was deleted, perhaps while it fired. Receivers that know nothing of it are left alone. */
  const resolveDeleted = async (
    alert: StoredAlert,
    silence: Silence | undefined,
    at: number,
  ): Promise<void> => {
    if (!alert.isFiring) {
      if (alert.announced === "yes" || (await announce(alert, undefined))) await forget(alert);
      return;
    }
    const data = { ...alert.data, value: null };
    const resolved: StoredAlert = { ...alert, isFiring: false, since: at, announced: "no", data };
    await store.put(resolved);
    const isUnheard = alert.announced === "silenced";
    if (await announce(resolved, isUnheard ? silence : undefined)) await forget(alert);
  };

  /** A later rule of this name is another one. */
  const forget = async ({ name }: StoredAlert): Promise<void> => {
    await store.endSilence(name);
    await store.delete(name);
  };

  /** Deletes those that have ended. */
  const currentSilences = async (at: number): Promise<ReadonlyMap<string, Silence>> => {
    const silences = await store.silences();
    const current = new Map<string, Silence>();
    for (const silence of silences) {
      if (silence.until > at) current.set(silence.name, silence);
      else await store.endSilence(silence.name);
    }
    return current;
  };

  const evaluateAll = async (): Promise<void> => {
    const at = now();
    startedAt ??= at;
    const current = rules();
    // Without rules, and without a state of an earlier one, nothing is written.
    const stored = new Map((await store.list()).map((alert) => [alert.name, alert]));
    if (current.size === 0 && stored.size === 0) return;
    if (!(await store.claim(owner, at, at + leaseMs))) return windows.clear();
    const silences = await currentSilences(at);
    const deleted = [...stored.values()].filter(({ name }) => !current.has(name));
    for (const alert of deleted) await resolveDeleted(alert, silences.get(alert.name), at);
    for (const rule of current.values()) {
      const [before, silence] = [stored.get(rule.name), silences.get(rule.name)];
      await evaluateRule(rule, { before, silence, at });
    }
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
    /** By the name of the rule. */
    silences: async (): Promise<ReadonlyMap<string, Silence>> =>
      new Map(
        (await store.silences()).filter(({ until }) => until > now()).map((of) => [of.name, of]),
      ),
    silence: async (name: string, minutes: number, of: Pick<Silence, "reason" | "by">) => {
      const silence = { ...of, name, until: now() + minutes * 60_000 };
      await store.silence(silence);
      return silence;
    },
    endSilence: store.endSilence,
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
  value: shortNumber(value),
  above: rule.above,
  minutes: rule.minutes,
  model: rule.model ?? null,
  project: rule.project ?? null,
  upstream: rule.upstream ?? null,
  since: new Date(since).toISOString(),
  ...(rule.receivers && { receivers: rule.receivers }),
});

/** The event of the last change is not recorded, or its receivers may know of it now. */
const isDue = ({ announced }: StoredAlert, silence: Silence | undefined): boolean =>
  announced === "no" || (announced === "silenced" && !silence);

const neverFired = (name: string): StoredAlert => ({
  name,
  isFiring: false,
  since: 0,
  announced: "yes",
  data: {},
});

/** When an alert that is resolved now began to fire. */
const sinceOf = (before: StoredAlert | undefined, at: number): number => before?.since ?? at;
