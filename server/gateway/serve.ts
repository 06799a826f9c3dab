/** The whole journey. Read this first; every step is one file beside it. */
import type { Snapshot } from "../snapshot/snapshot.ts";
import { GatewayError } from "../std/gateway-error.ts";
import type { LedgerRow, Settled } from "../usage/ledger.ts";
import { authenticate } from "./authenticate.ts";
import type { Deadline, StartDeadline } from "./deadline.ts";
import type { Endpoint, Read, WriteContext } from "./endpoint.ts";
import type { Incoming, Outgoing } from "./incoming.ts";
import { refuse, toFault } from "./refuse.ts";
import { resolve } from "./resolve.ts";
import type { Send } from "./stages/stage.ts";
import { begun, type StreamTimes, settled, steady } from "./stream.ts";
import { Trip } from "./trip.ts";

export interface ServeOptions {
  readonly snapshot: () => Snapshot;
  readonly ledger: { admit(): void; settle(row: LedgerRow): Settled };
  readonly keepPicture: WriteContext["keepPicture"];
  /** Told how each call went, once it is over. */
  readonly report: (trip: Trip, error?: GatewayError) => void;
  /** Told of what went wrong without a caller having to suffer for it. */
  readonly onDefect: (requestId: string, error: unknown) => void;
  readonly startDeadline: StartDeadline;
  readonly timeoutMs: { readonly embedding: number; readonly image: number };
  readonly maxConcurrent: number;
  readonly streamTimes: StreamTimes;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export type Serve = <Q extends { readonly model: string }, A>(
  endpoint: Endpoint<Q, A>,
  send: Send<Q, A>,
  incoming: Incoming,
) => Promise<Outgoing>;

export function createServe(options: ServeOptions): { serve: Serve; inHand: () => number } {
  let inHand = 0;

  const serve: Serve = async (endpoint, send, incoming) => {
    const started = options.clock();
    const trip = new Trip(incoming.requestId, endpoint.operation, options.now());
    let read: Read<Parameters<typeof endpoint.write>[1]> | undefined;
    let deadline: Deadline | undefined;
    inHand++;

    /** A file that will not go away must take neither the answer nor the row with it. */
    const clearAway = async (): Promise<void> => {
      try {
        await read?.dispose?.();
      } catch (error) {
        options.onDefect(trip.requestId, error);
      }
    };

    /** The end of every journey, good or bad: write the row, then tell. */
    const settle = (status: number, error?: GatewayError): Settled => {
      deadline?.end();
      trip.status = status;
      trip.fault = error?.fault;
      trip.latencyMs = options.clock() - started;
      trip.bytesIn = incoming.bytesReceived;
      try {
        return trip.caller ? options.ledger.settle(trip.row(trip.caller)) : "settled";
      } finally {
        inHand--;
        options.report(trip, error);
      }
    };

    try {
      if (inHand > options.maxConcurrent) throw tooMuch();
      const snapshot = options.snapshot(); // pinned: a reload never changes a request half-way
      options.ledger.admit(); // before anything that would need a row
      trip.caller = authenticate(incoming.headers, snapshot);
      read = await endpoint.read(incoming);
      trip.model = read.query.model;
      const route = resolve(read.query.model, endpoint.kind, trip.caller, snapshot);
      const timeoutMs = options.timeoutMs[endpoint.kind];
      deadline = options.startDeadline(() => incoming.signal, timeoutMs);
      incoming.expectWait(timeoutMs);
      const { signal } = deadline;
      const { operation } = endpoint;
      const answer = await send({ operation, query: read.query, route, signal, trip });
      const written = await endpoint.write(answer, read.query, {
        publicUrl: () => incoming.publicUrl,
        now: Math.floor(options.now() / 1000),
        keepPicture: options.keepPicture,
      });
      if (written.kind === "whole") {
        trip.usage = written.usage;
        trip.bytesOut = Buffer.byteLength(written.body);
        if (read.dispose) await clearAway();
        return answered(written.body, settle(200), trip);
      }
      const chunks = await steady(written.chunks, options.streamTimes);
      const finish = async (sent: number, error?: GatewayError): Promise<Settled> => {
        trip.usage = written.usage();
        trip.bytesOut = sent;
        await clearAway();
        return settle(error?.row.status ?? 200, error);
      };
      return {
        status: 200,
        headers: { ...eventStream },
        body: begun(settled(chunks, finish, signal)),
      };
    } catch (thrown) {
      // Settling is what failed: the ledger keeps the row, the caller hears of it.
      if (trip.status !== 0) return refuse(toFault(thrown, undefined));
      const error = toFault(thrown, deadline?.signal);
      const refusal = refuse(error);
      // Whoever has hung up gets nothing.
      trip.bytesOut = error.fault === "client_closed" ? 0 : Buffer.byteLength(refusal.body);
      await clearAway();
      try {
        settle(refusal.status, error);
      } catch {
        // The ledger keeps the row; this caller is refused already.
      }
      return refusal;
    }
  };

  return { serve, inHand: () => inHand };
}

const eventStream = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
} as const;

function answered(body: string | Uint8Array, outcome: Settled, trip: Trip): Outgoing {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (outcome === "unsettled") headers["vexel-ledger"] = "unsettled";
  if (trip.adapted?.length) headers["vexel-adapted"] = trip.adapted.join(", ");
  if (trip.dropped?.length) headers["vexel-dropped"] = trip.dropped.join(", ");
  return { status: 200, headers, body };
}

const tooMuch = (): GatewayError =>
  new GatewayError(
    "overloaded",
    "The gateway is overloaded. Please retry your request after a brief delay.",
    { retryAfterMs: 1000 },
  );
