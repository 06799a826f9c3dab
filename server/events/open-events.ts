/** Opens events: the event store, webhook delivery and key events. */
import type { AlertRule, Snapshot } from "../config/snapshot.ts";
import { errorMessage } from "../lib/error-code.ts";
import type { Fields, Log } from "../lib/log.ts";
import { newId } from "../lib/new-id.ts";
import { nextTurn } from "../lib/tasks.ts";
import { backgroundTimers, repeat } from "../lib/timers.ts";
import type { SecretBox } from "../storage/encrypt-secret.ts";
import type { SharedStorage } from "../storage/postgres/shared-storage.ts";
import { createAlertStore } from "../storage/sql/alert-store.ts";
import { createDeliveryStore } from "../storage/sql/delivery-store.ts";
import { createEventStore, type StoredEvent } from "../storage/sql/event-store.ts";
import { createWebhookEndpointStore } from "../storage/sql/webhook-endpoint-store.ts";
import { openEventFile } from "../storage/sqlite/event-database.ts";
import { SqliteDatabase } from "../storage/sqlite/sqlite-database.ts";
import type { FetchOnly } from "../upstream/transport/index.ts";
import { isAlertReceiver } from "./alerts/alert-receivers.ts";
import { type AlertSources, type Alerts, createAlerts } from "./alerts/evaluate-alerts.ts";
import { createClientWebhooks } from "./client-webhooks.ts";
import { createDeliveryQueue, type DeliveryReport } from "./delivery-queue.ts";
import { createEvents, type EventsReport } from "./events.ts";
import { createSendMail, type MailOptions } from "./formats/send-mail.ts";
import { createExpiringKeys, createKeyEvents } from "./key-events.ts";
import { createPostWebhook } from "./post-webhook.ts";
import { createProjectContacts } from "./project-contacts.ts";
import { createEventViews } from "./show-events.ts";
import { createWebhookEndpoints } from "./webhook-endpoints.ts";

interface OpenEventsOptions {
  /** The data folder. */
  readonly folder: string;
  readonly snapshot: () => Snapshot;
  /** The version of the gateway, for the user agent. */
  readonly version: string;
  /** The stores that replicas share. The default is `events.db` in the data folder. */
  readonly shared:
    | Pick<SharedStorage, "events" | "deliveries" | "alerts" | "webhookEndpoints" | "now">
    | undefined;
  /** The mail server of e-mail notifications. */
  readonly mail: MailOptions;
  /** The id of this process. */
  readonly replica: string;
  /** Encrypts the signing secrets of webhook endpoints. */
  readonly secrets: SecretBox;
  /** Private hosts that webhook endpoints of clients may have, as `host` or `host:port`. */
  readonly trustedHosts: readonly string[];
  /** The delay before each attempt after the first. */
  readonly webhookDelaysMs: readonly number[] | undefined;
  readonly fetchOnly: FetchOnly;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly random: () => number;
  readonly resources: AsyncDisposableStack;
}

const noRules: ReadonlyMap<string, AlertRule> = new Map();
/** The pause between two runs of the background work. */
const everyMs = 60_000;

export type OpenedEvents = ReturnType<typeof openEvents>;

export function openEvents(options: OpenEventsOptions) {
  const { snapshot, shared, log, now, clock, random, resources } = options;
  const stores = shared ?? openStores(options.folder, resources);
  const { events: store, deliveries: queue } = stores;
  const contacts = createProjectContacts(snapshot, options.mail);
  const { webhooks } = contacts;
  const clientWebhooks = createClientWebhooks({ ...options, store: stores.webhookEndpoints });
  const deliver = createDeliveryQueue({
    queue,
    webhooks: () => joined(webhooks(), clientWebhooks.pending()),
    refreshWebhooks: clientWebhooks.refresh,
    post: createPostWebhook(options),
    sendMail: contacts.sendMail(createSendMail(options.mail)),
    now,
    random,
    report: (problem) => logDeliveryProblem(log, problem),
    delaysMs: options.webhookDelaysMs,
    timers: backgroundTimers,
  });
  resources.defer(deliver.close);
  const newEventId = () => newId("evt_", now());
  const report = (problem: EventsReport) => logRecordingProblem(log, problem);
  const events = createEvents({
    store,
    deliver,
    webhooks,
    isReceiver: (webhook, event) =>
      isAlertReceiver(webhook, event, webhooks()) ?? contacts.isReceiver(webhook, event),
    clientWebhooks,
    now,
    newId: newEventId,
    report,
    onRecorded: (event) => logThreshold(log, event),
  });
  resources.defer(events.close);
  const views = createEventViews({ store, queue, deliver, events, webhooks, clock, now });
  const logUnrecordedKeyEvents = (reason: string) =>
    log.error("event-not-recorded", { type: "key.*", reason });

  const emitExpiringKeys = createExpiringKeys({ snapshot, emit: events.emit, now });
  resources.defer(repeat({ everyMs, isImmediate: true }, async () => emitExpiringKeys()));

  // The file is locked or the disk is full: pruning is retried, and the next write logs the problem.
  const onPruningFailure = (error: unknown) =>
    log.debug("events-not-pruned", { reason: errorMessage(error) });
  const stopPruning = repeat({ everyMs, onFailure: onPruningFailure }, async (signal) => {
    const at = now();
    while (!signal.aborted && (await store.prune(at))) await nextTurn();
    // Another process may have queued deliveries meanwhile.
    deliver.wake();
  });
  resources.defer(stopPruning);

  let alerts: Alerts | undefined;
  // The ledger or the store cannot be read, which their own events report. The next minute tries again.
  const onAlertsFailure = (error: unknown) =>
    log.debug("alerts-not-evaluated", { reason: errorMessage(error) });
  const stopAlerts = repeat({ everyMs, onFailure: onAlertsFailure }, async () => {
    await alerts?.evaluate();
  });
  resources.defer(stopAlerts);
  // Deliveries that an earlier process left pending.
  deliver.wake();

  return {
    emit: events.emit,
    recordJobEvent: events.recordJobEvent,
    /** The webhook endpoints of clients. */
    webhookEndpoints: createWebhookEndpoints({
      ...options,
      store: stores.webhookEndpoints,
      attempt: deliver.attempt,
      newEventId,
    }),
    /** Called whenever stored keys may have changed. */
    onKeysChanged: createKeyEvents({
      store,
      emit: events.emit,
      flush: events.flush,
      report: logUnrecordedKeyEvents,
    }),
    /** For the admin API. */
    views,
    /** Evaluates the alert rules from now on, every minute. */
    watchAlerts: (sources: AlertSources): Alerts => {
      alerts = createAlerts({
        ...sources,
        store: stores.alerts,
        rules: () => snapshot().alerts ?? noRules,
        emit: events.emit,
        flush: events.flush,
        owner: options.replica,
        now,
      });
      return alerts;
    },
  };
}

function openStores(folder: string, resources: AsyncDisposableStack) {
  const db = new SqliteDatabase(openEventFile(folder));
  resources.defer(() => db.close());
  return {
    events: createEventStore(db),
    deliveries: createDeliveryStore(db),
    alerts: createAlertStore(db),
    webhookEndpoints: createWebhookEndpointStore(db),
  };
}

const joined = <K, V>(first: ReadonlyMap<K, V>, second: ReadonlyMap<K, V>): ReadonlyMap<K, V> =>
  second.size === 0 ? first : new Map([...first, ...second]);

/** Each replica notices that a budget has reached a threshold. The replica that records the event logs it. */
function logThreshold(log: Log, { type, data }: StoredEvent): void {
  if (type === "budget.threshold") log.warn("budget-threshold", data as Fields);
}

function logRecordingProblem(log: Log, { kind, type, webhook, problem }: EventsReport): void {
  if (kind === "queue-full") log.error("webhook-abandoned", { webhook, reason: problem });
  else log.error("event-not-recorded", { type, reason: problem, lost: kind === "lost" });
}

function logDeliveryProblem(log: Log, { kind, webhook, event, problem }: DeliveryReport): void {
  // The URL may contain a token, also in its path: the host is enough to identify the webhook.
  const host = webhook && (new URL(webhook.url).host || "e-mail");
  const fields = {
    webhook: webhook?.id,
    host,
    eventId: event?.id,
    type: event?.type,
    reason: problem,
  };
  if (kind === "failing") log.warn("webhook-failing", fields);
  else if (kind === "abandoned") log.error("webhook-abandoned", fields);
  else if (kind === "endpoint-gone") log.error("webhook-endpoint-gone", fields);
  else log.error("webhook-deliveries-stalled", { reason: problem });
}
