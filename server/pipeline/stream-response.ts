/**
 * Streaming responses as server-sent events: a failure before the first event gets an HTTP status, a pause gets
 * heartbeats, and the ledger row is written before the last event.
 */
import type { GatewayError } from "../lib/gateway-error.ts";
import type { StreamedJson } from "../lib/json-stream.ts";
import { ignoreRejection, startGenerator } from "../lib/tasks.ts";
import { withTimeout } from "../lib/timers.ts";
import { clientClosedError } from "../request/deadline.ts";
import { toGatewayError } from "../request/error-response.ts";
import type { StreamChunk } from "../request/http-types.ts";

export interface StreamEvent {
  /** Text in memory, or JSON that is read while it is sent. */
  readonly body: string | StreamedJson;
  /** The event may be the last: it is held back until the next event arrives or the ledger row is written. */
  readonly mayBeLast: boolean;
}

export interface StreamTimes {
  /** How long the response waits for its first event: a failure until then is an error response with a status. */
  readonly firstEventMs: number;
  /** The interval of heartbeats: proxies close silent connections. */
  readonly heartbeatMs: number;
}

const heartbeat: StreamEvent = { body: ": still working\n\n", mayBeLast: false };

/** Waits for the first event; then passes events on, with a comment event as heartbeat during silence. */
export async function withHeartbeats(
  chunks: AsyncIterable<StreamEvent>,
  { firstEventMs, heartbeatMs }: StreamTimes,
): Promise<AsyncIterable<StreamEvent>> {
  const iterator = chunks[Symbol.asyncIterator]();
  const requestNext = (): Promise<IteratorResult<StreamEvent>> => {
    const next = iterator.next();
    // `next` may reject before any code awaits it; a later await still gets the rejection.
    ignoreRejection(next);
    return next;
  };
  let next = requestNext();
  await withTimeout(next, firstEventMs);

  async function* forward(): AsyncGenerator<StreamEvent> {
    try {
      for (;;) {
        const result = await withTimeout(next, heartbeatMs);
        if (result === undefined) yield heartbeat;
        else if (result.done) return;
        else {
          yield result.value;
          next = requestNext();
        }
      }
    } finally {
      // Not awaited: a busy generator returns only when its upstream does.
      ignoreRejection(iterator.return?.());
    }
  }
  return startGenerator(forward());
}

interface Ending {
  /** Writes the ledger row. `error`: why the stream ended early. */
  settle(bytes: number, error?: GatewayError): Promise<unknown>;
  /** The error as the client gets it. */
  clientError(error: GatewayError): GatewayError;
  /** Runs after the last event was sent, or the client disconnected. */
  clear(): Promise<void>;
}

/** Writes the ledger row before the last event is sent, and also when the client disconnects before it. */
export async function* settleAtEnd(
  chunks: AsyncIterable<StreamEvent>,
  { settle, clientError, clear }: Ending,
  signal: AbortSignal,
): AsyncGenerator<StreamChunk> {
  let sent = 0;
  let isSettled = false;
  let heldBack: StreamEvent["body"] = "";
  try {
    for await (const { body, mayBeLast } of chunks) {
      sent += typeof body === "string" ? Buffer.byteLength(body) : body.length;
      yield* chunksOf(heldBack);
      heldBack = mayBeLast ? body : "";
      if (!mayBeLast) yield* chunksOf(body);
    }
    isSettled = true;
    await settle(sent);
    yield* chunksOf(heldBack);
  } catch (thrown) {
    const error = toGatewayError(thrown, signal);
    // If `settle` itself failed, the ledger retries to write the row: the row is not settled twice.
    if (!isSettled) {
      isSettled = true;
      await settle(sent, error).catch(() => undefined);
      yield* chunksOf(heldBack);
    }
    yield errorFrame(clientError(error));
  } finally {
    if (!isSettled) await settle(sent, clientClosedError()).catch(() => undefined);
    await clear();
  }
}

/** A body that is read while it is sent is checked here for completeness. */
async function* chunksOf(body: StreamEvent["body"]): AsyncGenerator<StreamChunk> {
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
    throw new Error(`A stream event of ${body.length} bytes has ${length}.`);
  }
}

/**
 * Both official clients detect an error only if `data` has an `error`; one of them also requires the event name. As
 * OpenAI has it, `type` is beside it, for programs that read the type of every event (captured in
 * github.com/sdcb/chats, `image_generation_server_error`).
 */
const errorFrame = (error: GatewayError): string =>
  `event: error\ndata: ${JSON.stringify({ type: "error", ...error.body })}\n\n`;
