/**
 * The webhook delivery queue: at-least-once delivery in the background, with retries by backoff and jitter. Each
 * webhook has its own worker: one event at a time, oldest first. A failed delivery is retried later and does not block
 * the events after it. After the last retry it is abandoned. There is no dead letter queue: abandoned events stay in
 * the event list and can be redelivered.
 */
import type { Webhook } from "../config/snapshot.ts";
import { errorMessage } from "../lib/error-code.ts";
import type { Timers } from "../lib/timers.ts";
import type {
  ClaimedDelivery,
  DeliveryOutcome,
  DeliveryStore,
} from "../storage/sql/delivery-store.ts";
import type { StoredEvent } from "../storage/sql/event-store.ts";
import {
  type AttemptOptions,
  type AttemptResult,
  attemptDelivery,
  attemptTimeoutMs,
} from "./attempt-delivery.ts";

interface DeliveryQueueOptions extends AttemptOptions {
  readonly queue: Pick<DeliveryStore, "claim" | "settle" | "release" | "abandonAll" | "nextDue">;
  readonly webhooks: () => ReadonlyMap<string, Webhook>;
  /** Loads the webhooks with pending deliveries that are not in memory. If absent, all are. */
  readonly refreshWebhooks?: () => Promise<void>;
  readonly random: () => number;
  readonly report: (report: DeliveryReport) => void;
  /** The delay before each retry. After the last retry the delivery is abandoned. */
  readonly delaysMs: readonly number[] | undefined;
  /** They do not keep the process running for a delivery that is due later. */
  readonly timers: Timers;
}

export interface DeliveryReport {
  /**
   * The webhook starts to fail, one delivery was abandoned, the receiver responded with 410, or the store of the queue
   * cannot be used.
   */
  readonly kind: "failing" | "abandoned" | "endpoint-gone" | "stalled";
  readonly webhook?: Webhook;
  readonly event?: StoredEvent;
  readonly problem: string;
}

const [second, minute] = [1000, 60_000];
const defaultDelaysMs = [5 * second, 30 * second, 2 * minute, 10 * minute, 60 * minute];
const maxDelayMs = 60 * minute;
/** Each delay is up to this share longer, so that deliveries that failed together are not retried together. */
const retryJitter = 0.2;
/** The retry interval while the store of the queue cannot be used. */
const storageRetryMs = 5 * second;
/** A wake-up during a dispatch is repeated after it. */
const dispatchAgainMs = 10;

interface WebhookState {
  busy: boolean;
  /** The receiver responded with 410. A configuration reload creates another object, which is not gone. */
  gone: Webhook | undefined;
  failures: number;
  /** The log says that its deliveries fail. A failed test is not logged, so `failures` does not show it. */
  isFailureReported: boolean;
  /** The receiver asked for a pause until then (retry-after with 429 or 503). */
  pausedUntil: number;
}

export type DeliveryQueue = ReturnType<typeof createDeliveryQueue>;

export function createDeliveryQueue(options: DeliveryQueueOptions) {
  const { queue, webhooks, post, sendMail, now, random, report, timers } = options;
  const { delaysMs = defaultDelaysMs } = options;
  const attemptOptions = { post, sendMail, now };
  /**
   * By id, which comes from the URL: after a configuration reload, the delivery in flight is still awaited, and a pause
   * that the receiver requested still holds.
   */
  const states = new Map<string, WebhookState>();
  const inFlight = new Map<AbortController, () => Promise<void>>();
  /**
   * Outcomes that are not saved yet. A webhook's next delivery is claimed after its last outcome is saved, so that none
   * is sent twice.
   */
  const unsavedOutcomes: DeliveryOutcome[] = [];
  let saving: Promise<void> | undefined;
  let dispatching = false;
  /** Of a dispatch: for the next due delivery that is known, or earlier. */
  let timer: unknown;
  let closed = false;
  let isStallReported = false;

  const stateOf = (webhook: Webhook): WebhookState => {
    const state = states.get(webhook.id);
    if (state) return state;
    for (const [id, { busy }] of states) if (!busy && !webhooks().has(id)) states.delete(id);
    const initial = {
      busy: false,
      gone: undefined,
      failures: 0,
      isFailureReported: false,
      pausedUntil: 0,
    };
    states.set(webhook.id, initial);
    return initial;
  };

  const attempt = async (webhook: Webhook, event: StoredEvent, release = async () => {}) => {
    const abort = new AbortController();
    inFlight.set(abort, release);
    const result = await attemptDelivery(webhook, event, abort, attemptOptions);
    inFlight.delete(abort);
    const state = stateOf(webhook);
    if (result.delivered) {
      state.gone = undefined;
      state.failures = 0;
      state.isFailureReported = false;
    } else {
      state.failures += 1;
    }
    return result;
  };

  const reportFailure = (
    failure: Required<Omit<DeliveryReport, "kind">>,
    isAbandoned: boolean,
  ): void => {
    const state = stateOf(failure.webhook);
    if (!state.isFailureReported) report({ kind: "failing", ...failure });
    state.isFailureReported = true;
    if (isAbandoned) report({ kind: "abandoned", ...failure });
  };

  /** Records the outcome of an attempt for the queue and for the webhook's state. */
  const recordOutcome = (
    webhook: Webhook,
    claimed: ClaimedDelivery,
    result: AttemptResult,
  ): void => {
    const { seq, event, attempts } = claimed;
    const { delivered, status, problem, retryAfterMs = 0 } = result;
    const delay = delaysMs[attempts];
    const at = now();
    const requestedDelayMs = Math.min(retryAfterMs, maxDelayMs);
    const due = at + Math.max((delay ?? 0) * (1 + retryJitter * random()), requestedDelayMs);
    const undelivered = delay === undefined ? "abandoned" : "waiting";
    const state = delivered ? "delivered" : undelivered;
    unsavedOutcomes.push({ seq, webhook: webhook.id, state, due, at, status, problem });
    if (delivered || problem === null) return;
    const webhookState = stateOf(webhook);
    if (status === 429 || status === 503) webhookState.pausedUntil = at + requestedDelayMs;
    if (status === 410) webhookState.gone = webhook;
    reportFailure({ webhook, event, problem }, state === "abandoned");
    if (status === 410) report({ kind: "endpoint-gone", webhook, event, problem });
  };

  const saveEachOutcome = async (): Promise<void> => {
    for (let first = unsavedOutcomes[0]; first; first = unsavedOutcomes[0]) {
      await queue.settle(first);
      unsavedOutcomes.shift();
    }
  };
  /** One at a time: the workers of all webhooks share the list. */
  const saveOutcomes = async (): Promise<void> => {
    while (unsavedOutcomes.length > 0) {
      saving ??= saveEachOutcome().finally(() => {
        saving = undefined;
      });
      await saving;
    }
  };

  /** False after a configuration reload: a new webhook object has replaced this one. */
  const isActive = (webhook: Webhook, state: WebhookState): boolean =>
    !closed &&
    state.gone !== webhook &&
    state.pausedUntil <= now() &&
    webhooks().get(webhook.id) === webhook;

  const deliverDue = async (webhook: Webhook, state: WebhookState): Promise<void> => {
    state.busy = true;
    try {
      while (isActive(webhook, state)) {
        const at = now();
        const claimed = await queue.claim({
          webhook: webhook.id,
          now: at,
          // Longer than the attempt: no other replica sends the event meanwhile.
          until: at + attemptTimeoutMs(webhook) * 1.5,
        });
        isStallReported = false;
        if (!claimed) return;
        const release = () => queue.release(webhook.id, claimed.seq, at);
        // The webhook may have changed, or the queue may have been closed, while the store was read.
        if (!isActive(webhook, state)) return await release();
        const result = await attempt(webhook, claimed.event, release);
        if (closed) return;
        recordOutcome(webhook, claimed, result);
        await saveOutcomes();
        if (state.gone === webhook)
          await queue.abandonAll(webhook.id, "the receiver responded with 410 Gone");
      }
    } finally {
      state.busy = false;
    }
  };

  /** When the next delivery is due, unless a worker is running. */
  const nextAttemptAt = async (webhook: Webhook): Promise<number | undefined> => {
    const state = stateOf(webhook);
    if (state.busy || state.gone === webhook) return undefined;
    const due = await queue.nextDue(webhook.id);
    if (due === undefined || state.busy) return undefined;
    return Math.max(due, state.pausedUntil);
  };

  /** Starts a worker for each webhook with a due delivery. Returns the time of the next delivery to other webhooks. */
  const startWorkers = async (): Promise<number> => {
    let soonest = Number.POSITIVE_INFINITY;
    await saveOutcomes();
    await options.refreshWebhooks?.();
    for (const webhook of webhooks().values()) {
      const next = await nextAttemptAt(webhook);
      if (next === undefined || closed) continue;
      if (next <= now()) void deliverDue(webhook, stateOf(webhook)).then(wake, onStorageError);
      else soonest = Math.min(soonest, next);
    }
    return soonest;
  };

  const dispatch = async (): Promise<void> => {
    if (closed) return;
    // A wake-up meanwhile is for a delivery that this dispatch may have missed.
    if (dispatching) return dispatchIn(dispatchAgainMs);
    dispatching = true;
    try {
      const soonest = await startWorkers();
      if (soonest < Number.POSITIVE_INFINITY && timer === undefined)
        dispatchIn(Math.min(Math.max(0, soonest - now()), maxDelayMs));
    } catch (error) {
      onStorageError(error);
    } finally {
      dispatching = false;
    }
  };

  /** Reported once; retried every few seconds. */
  const onStorageError = (error: unknown): void => {
    if (closed) return;
    const problem = errorMessage(error);
    if (!isStallReported) report({ kind: "stalled", problem });
    isStallReported = true;
    dispatchIn(storageRetryMs);
  };

  const dispatchIn = (ms: number): void => {
    timers.stop(timer);
    timer = timers.start(ms, () => {
      timer = undefined;
      void dispatch();
    });
  };
  // In the next turn of the event loop: the code that emits an event must not wait for deliveries.
  const wake = (): void => {
    if (!closed) dispatchIn(0);
  };

  return {
    /** Checks for due deliveries soon. */
    wake,
    /** Makes one attempt without a retry. */
    attempt: (webhook: Webhook, event: StoredEvent): Promise<AttemptResult> =>
      attempt(webhook, event),
    /** The receiver responded with 410: nothing is sent to it until a configuration reload or a successful test. */
    isGone: (webhook: Webhook): boolean => stateOf(webhook).gone === webhook,
    /** The number of consecutive failed attempts. */
    failures: (webhook: Webhook): number => stateOf(webhook).failures,
    close: async (): Promise<void> => {
      closed = true;
      timers.stop(timer);
      const releases = [...inFlight.values()];
      for (const abort of inFlight.keys()) abort.abort(new Error("the gateway is shutting down"));
      try {
        await saveOutcomes();
        await Promise.all(releases.map((release) => release()));
      } catch (error) {
        // The claims of these deliveries expire, and the next process sends them again.
        report({ kind: "stalled", problem: errorMessage(error) });
      }
    },
  };
}
