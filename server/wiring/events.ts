/** Wires events: the event store, webhook delivery and key events. */

import type { Emit } from "../../contract/events.ts";
import { version } from "../../package.json";
import type { Webhook } from "../config/snapshot.ts";
import { createDeliveryQueue, type DeliveryReport } from "../events/delivery-queue.ts";
import { createEvents, type EventsReport } from "../events/events.ts";
import { createExpiringKeys, createKeyEvents } from "../events/key-events.ts";
import { createEventViews, type EventViews } from "../events/show-events.ts";
import { errorMessage } from "../lib/error-code.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Log } from "../lib/log.ts";
import type { KeyStore } from "../storage/ports/key-store.ts";
import type { SharedStorage } from "../storage/postgres/shared-storage.ts";
import { createDeliveryStore } from "../storage/sql/delivery-store.ts";
import { createEventStore } from "../storage/sql/event-store.ts";
import { openEventFile } from "../storage/sqlite/event-database.ts";
import { SqliteDatabase } from "../storage/sqlite/sqlite-database.ts";
import type { UpstreamRequest, UpstreamResponse } from "../upstream/adapter.ts";
import { guardLinkLocal, systemResolve } from "../upstream/download/index.ts";
import {
  type FetchOnly,
  type SendUpstreamRequest,
  sendByFetch,
} from "../upstream/transport/index.ts";
import type { Runtime } from "./runtime.ts";

interface EventsWiringOptions {
  /** The stores that replicas share. Undefined: `events.db` in the data folder. */
  readonly shared: Pick<SharedStorage, "events" | "deliveries" | "now"> | undefined;
  /** The delay before each attempt after the first. Undefined: the defaults. */
  readonly webhookDelaysMs: readonly number[] | undefined;
  readonly fetchOnly: FetchOnly;
}

export interface EventsWiring {
  readonly emit: Emit;
  /** Called whenever stored keys may have changed. */
  onKeysChanged(keys: Pick<KeyStore, "changesSince">): Promise<void>;
  /** For the admin API. */
  readonly views: EventViews;
}

const none: ReadonlyMap<string, Webhook> = new Map();
const pruneEveryMs = 60_000;

export function wireEvents(
  { settings, snapshot, log, now, clock, random, resources }: Omit<Runtime, "emit">,
  { shared, fetchOnly, webhookDelaysMs }: EventsWiringOptions,
): EventsWiring {
  const { events: store, deliveries: queue } = shared ?? openStores(settings.VEXEL_DATA, resources);
  const webhooks = () => snapshot().webhooks ?? none;
  const deliver = createDeliveryQueue({
    queue,
    webhooks,
    post: createPost(
      guardLinkLocal({
        send: (request, signal) => sendByFetch(request, signal, 0),
        resolve: systemResolve,
        isProxied: ({ protocol }) => (protocol === "https:" ? fetchOnly.https : fetchOnly.http),
      }),
    ),
    now,
    random,
    report: (problem) => logDeliveryProblem(log, problem),
    delaysMs: webhookDelaysMs,
  });
  resources.defer(deliver.close);
  const newId = () => `evt_${Bun.randomUUIDv7("hex", now()).replaceAll("-", "")}`;
  const report = (problem: EventsReport) => logRecordingProblem(log, problem);
  const events = createEvents({ store, deliver, webhooks, now, newId, report });
  resources.defer(events.close);
  const views = createEventViews({ store, queue, deliver, events, webhooks, clock, now });
  const logUnrecordedKeyEvents = (reason: string) =>
    log.error("event-not-recorded", { type: "key.*", reason });

  const emitExpiringKeys = createExpiringKeys({ snapshot, emit: events.emit, now });
  emitExpiringKeys();

  const prune = async (): Promise<void> => {
    try {
      await store.prune(await (shared ? shared.now() : now()));
      // Another process may have queued deliveries meanwhile.
      deliver.wake();
    } catch (error) {
      // The file is locked or the disk is full: pruning is retried, and the next write logs the problem.
      const reason = errorMessage(error);
      log.debug("events-not-pruned", { reason });
    }
  };
  const pruneTimer = setInterval(() => {
    emitExpiringKeys();
    void prune();
  }, pruneEveryMs);
  pruneTimer.unref();
  resources.defer(() => clearInterval(pruneTimer));
  // Deliveries that an earlier process left pending.
  deliver.wake();

  return {
    emit: events.emit,
    onKeysChanged: createKeyEvents({
      store,
      emit: events.emit,
      flush: events.flush,
      report: logUnrecordedKeyEvents,
    }),
    views,
  };
}

function openStores(folder: string, resources: AsyncDisposableStack) {
  const db = new SqliteDatabase(openEventFile(folder));
  resources.defer(() => db.close());
  return { events: createEventStore(db), deliveries: createDeliveryStore(db) };
}

/** Only the status and one header of the response matter, so its body is not read. */
const createPost =
  (send: SendUpstreamRequest) =>
  async (
    request: UpstreamRequest,
    signal: AbortSignal,
  ): Promise<{ status: number; retryAfterMs?: number }> => {
    const cancel = new AbortController();
    const stop = () => cancel.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    const headers = { ...request.headers, "user-agent": `vexel/${version}` };
    try {
      const response = await send({ ...request, headers, method: "POST" }, cancel.signal);
      const retryAfterMs = retryAfterOf(response);
      return { status: response.status, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const { notSent, logDetail } = error.details;
      const problem = notSent ? "it cannot be reached" : "the connection broke";
      throw new Error(logDetail ? `${problem} (${logDetail})` : problem, { cause: error });
    } finally {
      signal.removeEventListener("abort", stop);
      cancel.abort(new Error("the body of the response is not needed"));
    }
  };

/** Only seconds are accepted: a date would depend on the receiver's clock. */
function retryAfterOf({ headers }: UpstreamResponse): number | undefined {
  const seconds = headers.get("retry-after") ?? "";
  return /^\d{1,7}$/.test(seconds) ? Number(seconds) * 1000 : undefined;
}

function logRecordingProblem(log: Log, { kind, type, webhook, problem }: EventsReport): void {
  if (kind === "queue-full") log.error("webhook-abandoned", { webhook, reason: problem });
  else log.error("event-not-recorded", { type, reason: problem, lost: kind === "lost" });
}

function logDeliveryProblem(log: Log, { kind, webhook, event, problem }: DeliveryReport): void {
  // The URL may contain a token, also in its path: the host is enough to identify the webhook.
  const host = webhook && new URL(webhook.url).host;
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
