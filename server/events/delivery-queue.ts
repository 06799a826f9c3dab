/**
 * Brings events to webhooks, beside everything else and in nobody's way. Each webhook is served by itself, one event at
 * a time, the oldest first; what it does not take is tried again later and does not hold up what comes after it.
 */
import type { Webhook } from "../config/snapshot.ts";
import { AbortSource } from "../lib/abort-signal.ts";
import type { ClaimedDelivery, Deliveries, DeliveryOutcome } from "../storage/deliveries.ts";
import type { StoredEvent } from "../storage/events.ts";
import { type AttemptOptions, type AttemptResult, attemptDelivery } from "./attempt-delivery.ts";

export interface DeliveryQueueOptions extends Omit<AttemptOptions, "timeoutMs"> {
  readonly queue: Pick<Deliveries, "claim" | "settle" | "release" | "giveUp" | "nextDue">;
  readonly webhooks: () => ReadonlyMap<string, Webhook>;
  readonly random: () => number;
  readonly report: (told: DeliveryReport) => void;
  readonly timeoutMs?: number;
  /** Before each attempt after the first. After the last of them it is given up. */
  readonly delaysMs?: readonly number[];
  /** Runs something a while later, unless it is taken back. */
  readonly schedule?: Schedule;
}

export type Schedule = (run: () => void, ms: number) => () => void;

export interface DeliveryReport {
  /** It begins to fail, one event was given up, it wants no more, or the queue itself cannot be used. */
  readonly what: "failing" | "given-up" | "gone" | "stuck";
  readonly webhook?: Webhook;
  readonly event?: StoredEvent;
  readonly problem: string;
}

export interface DeliveryQueue {
  /** Something may be due. */
  wake(): void;
  /** Once, and whatever comes of it. */
  attempt(webhook: Webhook, event: StoredEvent): Promise<AttemptResult>;
  /** It said 410 and is left alone, until the configuration is loaded anew or a test of it goes well. */
  isGone(webhook: Webhook): boolean;
  /** Attempts in a row that failed, since the last that did not. */
  failures(webhook: Webhook): number;
  close(): void;
}

const [second, minute] = [1000, 60_000];
const defaultDelaysMs = [5 * second, 30 * second, 2 * minute, 10 * minute, 60 * minute];
const defaultTimeoutMs = 10 * second;
const maxDelayMs = 60 * minute;
/** How much later than the delay says, at most, so that many that failed together do not come back together. */
const jitter = 0.2;
/** When the queue's file cannot be used. */
const storageRetryMs = 5 * second;
/** What is due later than this was written down by a clock that has been set back since. */
const latestDue = (at: number): number => at + maxDelayMs * (1 + jitter);

interface WebhookState {
  busy: boolean;
  gone: boolean;
  failures: number;
  /** It asked to be left alone until then. */
  pausedUntil: number;
}

export function createDeliveryQueue(options: DeliveryQueueOptions): DeliveryQueue {
  const { queue, webhooks, post, now, random, report } = options;
  const {
    timeoutMs = defaultTimeoutMs,
    delaysMs = defaultDelaysMs,
    schedule: later = unrefTimer,
  } = options;
  const times = { post, now, timeoutMs };
  // By object: what was found out of a webhook is forgotten when the configuration is loaded anew.
  const states = new WeakMap<Webhook, WebhookState>();
  const underWay = new Map<AbortSource, () => void>();
  /** Could not be written down. As long as that is so nothing is claimed, so nothing of it is sent again. */
  const unwritten: DeliveryOutcome[] = [];
  let takeBack = () => {};
  let closed = false;
  let stuckTold = false;

  const stateOf = (webhook: Webhook): WebhookState => {
    const known = states.get(webhook);
    if (known) return known;
    const fresh = { busy: false, gone: false, failures: 0, pausedUntil: 0 };
    states.set(webhook, fresh);
    return fresh;
  };

  const attempt = async (webhook: Webhook, event: StoredEvent, leave = () => {}) => {
    const cancel = new AbortSource();
    underWay.set(cancel, leave);
    const attempted = await attemptDelivery(webhook, event, cancel, times);
    underWay.delete(cancel);
    const state = stateOf(webhook);
    if (attempted.delivered) {
      state.gone = false;
      state.failures = 0;
    } else {
      state.failures += 1;
    }
    return attempted;
  };

  /** What follows from an attempt, for the queue and for the webhook. */
  const judge = (webhook: Webhook, claimed: ClaimedDelivery, attempted: AttemptResult): void => {
    const { seq, event, attempts } = claimed;
    const { delivered, status, problem, retryAfterMs = 0 } = attempted;
    const delay = delaysMs[attempts];
    const at = now();
    const asked = Math.min(retryAfterMs, maxDelayMs);
    const due = at + Math.max((delay ?? 0) * (1 + jitter * random()), asked);
    const state = delivered ? "delivered" : delay === undefined ? "given_up" : "waiting";
    unwritten.push({ seq, webhook: webhook.id, state, due, at, status, problem });
    if (delivered || problem === null) return;
    const known = stateOf(webhook);
    if (status === 429 || status === 503) known.pausedUntil = at + asked;
    if (status === 410) known.gone = true;
    if (known.failures === 1) report({ what: "failing", webhook, event, problem });
    if (state === "given_up") report({ what: "given-up", webhook, event, problem });
    if (known.gone) report({ what: "gone", webhook, event, problem });
  };

  const writeDown = (): void => {
    for (let first = unwritten[0]; first; first = unwritten[0]) {
      queue.settle(first);
      unwritten.shift();
    }
  };

  /** Never for longer than it may ask for, whatever becomes of the clock. */
  const restOf = ({ pausedUntil: restUntil }: WebhookState): number =>
    restUntil > now() + maxDelayMs ? 0 : restUntil;
  /** Not after a reload: another one has its place then. */
  const isServed = (webhook: Webhook, state: WebhookState): boolean =>
    !closed && !state.gone && restOf(state) <= now() && webhooks().get(webhook.id) === webhook;

  const work = async (webhook: Webhook, state: WebhookState): Promise<void> => {
    state.busy = true;
    try {
      while (isServed(webhook, state)) {
        const at = now();
        const claimed = queue.claim(webhook.id, at, at + timeoutMs * 1.5, latestDue(at));
        stuckTold = false;
        if (!claimed) return;
        const leave = () => queue.release(webhook.id, claimed.seq, at);
        const attempted = await attempt(webhook, claimed.event, leave);
        if (closed) return;
        judge(webhook, claimed, attempted);
        writeDown();
        if (state.gone) queue.giveUp(webhook.id, "the receiver wants no more");
      }
    } finally {
      state.busy = false;
    }
  };

  /** When there is something to do for it that is not being done. */
  const nextFor = (webhook: Webhook): number | undefined => {
    const state = stateOf(webhook);
    if (state.busy || state.gone) return undefined;
    const due = queue.nextDue(webhook.id);
    if (due === undefined) return undefined;
    return Math.max(due > latestDue(now()) ? 0 : due, restOf(state));
  };

  const look = (): void => {
    if (closed) return;
    let soonest = Number.POSITIVE_INFINITY;
    try {
      writeDown();
      for (const webhook of webhooks().values()) {
        const next = nextFor(webhook);
        if (next === undefined) continue;
        if (next <= now()) void work(webhook, stateOf(webhook)).then(wake, stuck);
        else soonest = Math.min(soonest, next);
      }
    } catch (error) {
      stuck(error);
      return;
    }
    if (soonest < Number.POSITIVE_INFINITY) lookIn(Math.min(soonest - now(), maxDelayMs));
  };

  /** Told once, tried again each time. */
  const stuck = (error: unknown): void => {
    if (closed) return;
    const problem = error instanceof Error ? error.message : String(error);
    if (!stuckTold) report({ what: "stuck", problem });
    stuckTold = true;
    lookIn(storageRetryMs);
  };

  const lookIn = (ms: number): void => {
    takeBack();
    takeBack = later(look, ms);
  };
  // Not at once: whoever tells of an event has something else to do.
  const wake = (): void => {
    if (!closed) lookIn(0);
  };

  return {
    wake,
    attempt: (webhook, event) => attempt(webhook, event),
    isGone: (webhook) => stateOf(webhook).gone,
    failures: (webhook) => stateOf(webhook).failures,
    close: () => {
      closed = true;
      takeBack();
      for (const cancel of underWay.keys()) cancel.abort(new Error("the gateway stops"));
      try {
        writeDown();
        for (const leave of underWay.values()) leave();
      } catch (error) {
        // They are due again a little later then.
        report({ what: "stuck", problem: error instanceof Error ? error.message : String(error) });
      }
    },
  };
}

/** Nobody is kept from stopping by what may be due tomorrow. */
const unrefTimer: Schedule = (run, ms) => {
  const timer = setTimeout(run, ms);
  timer.unref();
  return () => clearTimeout(timer);
};
