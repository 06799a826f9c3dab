/** Puts together what events need: their file, the queue to webhooks, the admin API, and those who tell of them. */

import { createAdminHandlers } from "../admin/admin-api.ts";
import type { Snapshot, Webhook } from "../config/snapshot.ts";
import { createDeliveryQueue, type DeliveryReport } from "../events/delivery-queue.ts";
import { createEvents, type Emit, type EventsReport } from "../events/events.ts";
import { createExpiringKeys } from "../events/expiring-keys.ts";
import { createKeyEvents } from "../events/key-events.ts";
import { createEventViews } from "../events/show-events.ts";
import { type AbortSignalLike, AbortSource } from "../lib/abort-signal.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Log } from "../observe/log.ts";
import type { ShownTarget } from "../routing/show-target.ts";
import type { Settings } from "../settings.ts";
import { Deliveries } from "../storage/deliveries.ts";
import { openEventFile } from "../storage/event-file.ts";
import { EventStore } from "../storage/events.ts";
import type { StoredKey } from "../storage/keys.ts";
import type { UpstreamRequest, UpstreamResponse } from "../upstream/adapter.ts";
import { sendByFetch } from "../upstream/transport/fetch-response.ts";

export interface EventsWiringOptions {
  readonly settings: Pick<Settings, "VEXEL_DATA" | "VEXEL_ADMIN_KEY">;
  readonly snapshot: () => Snapshot;
  readonly log: Log;
  readonly version: string;
  /** What is known of every target. */
  readonly targets: () => readonly ShownTarget[];
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly random: () => number;
  /** Before each attempt after the first. Absent: the usual ones. */
  readonly webhookDelaysMs?: readonly number[];
}

export interface EventsWiring {
  readonly emit: Emit;
  /** The keys of the store, whenever they may be others. */
  onKeysChanged(list: readonly StoredKey[]): void;
  readonly handlers: ReturnType<typeof createAdminHandlers>;
  close(): void;
}

const none: ReadonlyMap<string, Webhook> = new Map();
const pruneEveryMs = 60_000;

export function wireEvents(options: EventsWiringOptions): EventsWiring {
  const { settings, snapshot, log, version, now, clock, random, webhookDelaysMs } = options;
  const db = openEventFile(settings.VEXEL_DATA);
  const store = new EventStore(db);
  const queue = new Deliveries(db);
  const webhooks = () => snapshot().webhooks ?? none;
  const deliver = createDeliveryQueue({
    queue,
    webhooks,
    post: (request, signal) => post({ ...request, version }, signal),
    now,
    random,
    report: (told) => tellDelivery(log, told),
    ...(webhookDelaysMs && { delaysMs: webhookDelaysMs }),
  });
  const newId = () => `evt_${Bun.randomUUIDv7("hex", now()).replaceAll("-", "")}`;
  const report = (told: EventsReport) => tellEvents(log, told);
  const events = createEvents({ store, deliver, webhooks, now, newId, report });
  const show = createEventViews({ store, queue, deliver, events, webhooks, clock });
  const unnoted = (reason: string) => log.error("event-not-recorded", { type: "key.*", reason });

  const lookAtKeys = createExpiringKeys({ snapshot, emit: events.emit, now });
  lookAtKeys();

  const pruning = setInterval(() => {
    lookAtKeys();
    try {
      store.prune(now());
      // Somebody else may have left something behind in the meantime.
      deliver.wake();
    } catch (error) {
      // Locked or full: there is a next time, and those who write tell of it as well.
      const reason = error instanceof Error ? error.message : String(error);
      log.debug("events-not-pruned", { reason });
    }
  }, pruneEveryMs);
  pruning.unref();
  // What the last process had not brought to the end.
  deliver.wake();

  return {
    emit: events.emit,
    onKeysChanged: createKeyEvents({ store, emit: events.emit, report: unnoted }),
    handlers: createAdminHandlers({
      key: settings.VEXEL_ADMIN_KEY,
      views: show,
      targets: options.targets,
    }),
    close: () => {
      clearInterval(pruning);
      events.close();
      deliver.close();
      db.close();
    },
  };
}

/** Of the answer only the status and one header count, so the rest is not waited for. */
async function post(
  { version, ...request }: UpstreamRequest & { readonly version: string },
  signal: AbortSignalLike,
): Promise<{ status: number; retryAfterMs?: number }> {
  const enough = new AbortSource();
  const stop = () => enough.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const headers = { ...request.headers, "user-agent": `vexel/${version}` };
  try {
    const reply = await sendByFetch({ ...request, headers, method: "POST" }, enough, 0);
    const retryAfterMs = retryAfterOf(reply);
    return { status: reply.status, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { notSent: unsent, logDetail: logged } = error.details;
    const what = unsent ? "it cannot be reached" : "the connection broke";
    throw new Error(logged ? `${what} (${logged})` : what, { cause: error });
  } finally {
    signal.removeEventListener("abort", stop);
    enough.abort(new Error("the rest of the answer is not needed"));
  }
}

/** In seconds. A date would have to be held against a clock that is not ours. */
function retryAfterOf({ headers }: UpstreamResponse): number | undefined {
  const said = headers.get("retry-after") ?? "";
  return /^\d{1,7}$/.test(said) ? Number(said) * 1000 : undefined;
}

function tellEvents(log: Log, { what, type, webhook, problem }: EventsReport): void {
  if (what === "crowded") log.error("webhook-abandoned", { webhook, reason: problem });
  else log.error("event-not-recorded", { type, reason: problem, lost: what === "lost" });
}

function tellDelivery(log: Log, { what, webhook, event, problem }: DeliveryReport): void {
  // Its address may hold a token, in the path as well: the host is enough to find it.
  const host = webhook && new URL(webhook.url).host;
  const fields = {
    webhook: webhook?.id,
    host,
    eventId: event?.id,
    type: event?.type,
    reason: problem,
  };
  if (what === "failing") log.warn("webhook-failing", fields);
  else if (what === "given-up") log.error("webhook-abandoned", fields);
  else if (what === "gone") log.error("webhook-endpoint-gone", fields);
  else log.error("webhook-deliveries-stalled", { reason: problem });
}
