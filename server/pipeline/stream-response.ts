/** Answers that leave piece by piece: early failures get a status, silences a heartbeat, the end a ledger row. */

import type { AbortSignalLike } from "../lib/abort-signal.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import { ignoreRejection } from "../lib/ignore-rejection.ts";
import type { StreamedJson } from "../lib/json-stream.ts";
import { withTimeout } from "../lib/with-timeout.ts";
import { clientClosedError } from "../request/deadline.ts";
import { toGatewayError } from "../request/error-response.ts";
import type { BodyChunk } from "../request/http-types.ts";
import { lengthOf } from "../request/response-bodies.ts";

export interface Chunk {
  /** In memory, or read while it leaves. */
  readonly body: string | StreamedJson;
  /** Perhaps the last: kept back until the next one comes or the row is written. */
  readonly closing: boolean;
}

export interface StreamTimes {
  /** How long a failure may still become a plain error with a status. */
  readonly patienceMs: number;
  /** Proxies hang up on silence. */
  readonly heartbeatMs: number;
}

const heartbeat: Chunk = { body: ": still working\n\n", closing: false };

/** Waits for the first piece; then passes pieces on, with a comment whenever there was silence. */
export async function steady(
  chunks: AsyncIterable<Chunk>,
  { patienceMs, heartbeatMs }: StreamTimes,
): Promise<AsyncIterable<Chunk>> {
  const iterator = chunks[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<Chunk>> => {
    const next = iterator.next();
    // It may fail while nobody listens; whoever awaits it still hears of it.
    ignoreRejection(next);
    return next;
  };
  let next = ask();
  await withTimeout(next, patienceMs);

  async function* passOn(): AsyncGenerator<Chunk> {
    try {
      for (;;) {
        const got = await withTimeout(next, heartbeatMs);
        if (got === undefined) yield heartbeat;
        else if (got.done) return;
        else {
          yield got.value;
          next = ask();
        }
      }
    } finally {
      // Not awaited: a generator that is busy answers only when its upstream lets go.
      ignoreRejection(iterator.return?.());
    }
  }
  return passOn();
}

/** Begun at once: a generator that was never asked for anything would end without its `finally`. */
export function begun<T>(generator: AsyncGenerator<T>): AsyncIterable<T> {
  let first: Promise<IteratorResult<T>> | undefined = generator.next();
  const next = (): Promise<IteratorResult<T>> => {
    const result = first ?? generator.next();
    first = undefined;
    return result;
  };
  const end = (): Promise<IteratorResult<T>> => generator.return(undefined);
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}

export interface Ending {
  /** What left is told of, with why it ended where it was not the end. */
  settle(bytes: number, error?: GatewayError): Promise<unknown>;
  /** The last piece has left, or nobody takes it. */
  clear(): Promise<void>;
}

/** The row is written before the closing piece leaves, and also when the caller leaves first. */
export async function* settled(
  chunks: AsyncIterable<Chunk>,
  { settle, clear }: Ending,
  signal: AbortSignalLike,
): AsyncGenerator<BodyChunk> {
  let sent = 0;
  let over = false;
  let kept: Chunk["body"] = "";
  try {
    for await (const { body, closing } of chunks) {
      sent += lengthOf(body);
      yield* partsOf(kept);
      kept = closing ? body : "";
      if (!closing) yield* partsOf(body);
    }
    over = true;
    await settle(sent);
    yield* partsOf(kept);
  } catch (thrown) {
    const error = toGatewayError(thrown, signal);
    // When writing the row is what failed, the ledger keeps the row itself.
    if (!over) {
      over = true;
      await settle(sent, error).catch(() => undefined);
      yield* partsOf(kept);
    }
    yield errorFrame(error);
  } finally {
    if (!over) await settle(sent, clientClosedError()).catch(() => undefined);
    await clear();
  }
}

/** Of what is read while it leaves, nobody else sees whether it is all there. */
async function* partsOf(body: Chunk["body"]): AsyncGenerator<BodyChunk> {
  if (typeof body === "string") {
    if (body !== "") yield body;
    return;
  }
  let length = 0;
  for await (const part of body.open()) {
    length += part.length;
    yield part;
  }
  if (length !== body.length) {
    throw new Error(`A piece of ${body.length} bytes turned out to have ${length}.`);
  }
}

/** Both official clients see an error only if `data` holds an `error`; one of them wants the event name too. */
const errorFrame = (error: GatewayError): string =>
  `event: error\ndata: ${JSON.stringify(error.body)}\n\n`;
