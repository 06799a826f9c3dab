/** Fixture for events and webhooks without a gateway: a fake clock, a receiver function, and a disk that can fail. */
import type { Database } from "bun:sqlite";
import type { Webhook } from "../../server/config/snapshot.ts";
import { createDeliveryQueue, type DeliveryReport } from "../../server/events/delivery-queue.ts";
import { createEvents, type EventsReport } from "../../server/events/events.ts";
import { createDeliveryStore } from "../../server/storage/sql/delivery-store.ts";
import { createEventStore } from "../../server/storage/sql/event-store.ts";
import { openEventFile } from "../../server/storage/sqlite/event-database.ts";
import { SqliteDatabase } from "../../server/storage/sqlite/sqlite-database.ts";
import { temporaryFolder } from "../harness.ts";
import { secret } from "./webhooks-fixture.ts";

const open: (() => Promise<void>)[] = [];

/** All fixtures that were created. */
export async function closeSimulations(): Promise<void> {
  for (const close of open.splice(0).reverse()) await close();
}

export const [second, minute, hour] = [1000, 60_000, 3_600_000] as const;
const webhookNamed = (id: string, url = `http://${id}.example/`): Webhook => ({
  id,
  url,
  secret,
  events: ["*"],
});

type ReceiverResponse = { status: number; retryAfterMs?: number } | Error;

interface SimulationOptions {
  /** The receiver's response to the count-th request. */
  respond: (count: number) => ReceiverResponse | Promise<ReceiverResponse>;
  random?: () => number;
  maxWaiting?: number;
  /** `mailto:`: the receiver is a mail server. */
  url?: string;
}

export function startSimulation(options: SimulationOptions) {
  const webhook = webhookNamed("hook", options.url);
  const folder = temporaryFolder();
  const file = openEventFile(folder.path);
  const db = new SqliteDatabase(file);
  let isDiskFull = false;
  let at = Date.UTC(2026, 0, 1);
  let timers: { due: number; readonly run: () => void }[] = [];
  const attempts: { at: number; id: string; signature: string }[] = [];
  const reported: (DeliveryReport | EventsReport)[] = [];
  const webhooks = new Map([[webhook.id, webhook]]);
  const guarded = <T extends object>(store: T): T =>
    new Proxy(store, {
      get: (target, name) => {
        if (isDiskFull) throw new Error("the disk is full");
        const value = Reflect.get(target, name) as unknown;
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  const deliver = createDeliveryQueue({
    queue: guarded(createDeliveryStore(db)),
    webhooks: () => webhooks,
    now: () => at,
    random: options.random ?? (() => 0),
    report: (each) => reported.push(each),
    delaysMs: undefined,
    timers: {
      start: (ms, run) => {
        const timer = { due: at + ms, run };
        timers.push(timer);
        return timer;
      },
      stop: (timer) => {
        timers = timers.filter((other) => other !== timer);
      },
    },
    sendMail: async (_, { id }) => {
      attempts.push({ at, id, signature: "" });
      const response = await options.respond(attempts.length);
      if (response instanceof Error) throw response;
    },
    post: async ({ headers }) => {
      const { "webhook-id": id = "", "webhook-signature": signature = "" } = headers;
      attempts.push({ at, id, signature });
      const response = await options.respond(attempts.length);
      if (response instanceof Error) throw response;
      return response;
    },
  });
  let count = 0;
  const events = createEvents({
    store: guarded(createEventStore(db, options)),
    deliver,
    webhooks: () => webhooks,
    clientWebhooks: { subscribers: async () => [] },
    now: () => at,
    newId: () => `evt_${String(++count).padStart(6, "0")}`,
    report: (each) => reported.push(each),
    onRecorded: () => {},
  });
  open.push(async () => {
    await events.close();
    await deliver.close();
    await db.close();
    folder[Symbol.dispose]();
  });
  /** Advances the clock from one timer to the next. */
  const pass = async (ms: number): Promise<void> => {
    const end = at + ms;
    for (;;) {
      await untilQuiet(() => changesOf(file) + attempts.length + reported.length);
      const next = timers.toSorted((a, b) => a.due - b.due)[0];
      if (!next || next.due > end) break;
      timers = timers.filter((other) => other !== next);
      at = Math.max(at, next.due);
      next.run();
    }
    at = end;
  };
  return {
    db,
    file,
    attempts,
    reported,
    webhook,
    webhooks,
    deliver,
    pass,
    now: () => at,
    emit: () => events.emit({ type: "config.reloaded", data: { changes: "x" } }),
    /** Timers are monotonic: they ignore changes of the time of day. */
    jump: (ms: number) => {
      at += ms;
      timers = timers.map((timer) => Object.assign(timer, { due: timer.due + ms }));
    },
    breakDisk: (now: boolean) => {
      isDiskFull = now;
    },
    states: () => statesIn(file),
    events,
  };
}

const statesIn = (db: Database): string[] =>
  db
    .query<{ state: string }, []>("SELECT state FROM deliveries ORDER BY seq")
    .all()
    .map(({ state }) => state);

/** Rows that were written to the file. */
const changesOf = (file: Database): number =>
  file.query<{ changes: number }, []>("SELECT total_changes() AS changes").get()?.changes ?? 0;

/** Turns of the event loop without a change after which nothing is going on: commits of SQLite take turns. */
const quietTurns = 12;

/** Waits until pending microtasks and immediate work are done. `changes`: a count that grows while there is work. */
async function untilQuiet(changes: () => number): Promise<void> {
  let last = changes();
  for (let quiet = 0; quiet < quietTurns; quiet++) {
    await new Promise(setImmediate);
    const now = changes();
    if (now !== last) quiet = 0;
    last = now;
  }
}
