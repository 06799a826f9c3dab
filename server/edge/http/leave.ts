/** Step 14: bytes leave, no faster than the caller takes them. */
import type { Leaving, Outgoing, Parts } from "../../gateway/incoming.ts";
import { answerHead } from "./answer-head.ts";
import { gathered, type OnDesk, putTogether } from "./desk.ts";
import type { Framing, RequestHead } from "./head.ts";

/** To where they leave. */
export interface Wire {
  /** Nothing where all of it was taken at once. Rejects when the caller has left. */
  put(data: string | Uint8Array): Promise<void> | undefined;
  /** The same, off the desk. */
  putOff(data: OnDesk): Promise<void> | undefined;
  /** Calls back when the caller has left, perhaps at once. */
  whenGone(then: () => void): void;
}

/** `more`: lines for the head. Returns nothing where all has left already. Rejects where it could not leave to its end. */
export function leave(
  { status, headers, body }: Outgoing,
  { method, knowsChunks }: RequestHead,
  more: string,
  wire: Wire,
): Promise<void> | undefined {
  const bare = status === 204 || status === 304;
  const silent = bare || method === "HEAD";
  if (typeof body === "string" || isInParts(body) || body instanceof Uint8Array) {
    const parts = isInParts(body) ? body : [body];
    const head = (bytes: number): string =>
      answerHead(status, headers, (bare ? "" : `content-length: ${bytes}\r\n`) + more);
    const small = silent ? undefined : putTogether(parts, head);
    if (small) return wire.putOff(small);
    const bytes = gathered(parts);
    const begun = wire.put(head(bytes.length));
    if (silent) return begun;
    return begun ? begun.then(() => wire.put(bytes)) : wire.put(bytes);
  }
  const length = lengthOf(body);
  const framed = length === undefined && knowsChunks;
  const framing = framed ? "transfer-encoding: chunked\r\n" : "";
  const told = length === undefined ? framing : `content-length: ${length}\r\n`;
  const begun = wire.put(answerHead(status, headers, (bare ? "" : told) + more));
  if (silent) return untaken(begun, body);
  const list = isLeaving(body) ? body.atHand?.() : undefined;
  if (list && isLeaving(body)) return sendAll(begun, list, body, wire);
  const source = isLeaving(body) ? fromDisk(body) : pieces(body);
  return send(begun, source, framed ? "chunked" : length, wire);
}

/** The head was all that was asked for. */
async function untaken(begun: Promise<void> | undefined, body: Outgoing["body"]): Promise<void> {
  try {
    await begun;
  } finally {
    await leaveUntaken({ body });
  }
}

/** The caller takes no body, or has left before there was one: whoever makes it is told that nobody takes it. */
export async function leaveUntaken({ body }: Pick<Outgoing, "body">): Promise<void> {
  if (typeof body === "string" || isInParts(body)) return;
  if (body instanceof Uint8Array || body instanceof Blob) return;
  if (isLeaving(body)) await body.close(false);
  else await body[Symbol.asyncIterator]().return?.();
}

type Body = Exclude<Outgoing["body"], string | Parts | Uint8Array>;

const isInParts = (body: Outgoing["body"]): body is Parts => Array.isArray(body);

const isLeaving = (body: Body): body is Leaving => "open" in body;

function lengthOf(body: Body): number | undefined {
  if (body instanceof Blob) return body.size;
  return "length" in body ? body.length : undefined;
}

/** A source of pieces, and who is told how it ended. */
interface Source {
  readonly iterator: AsyncIterator<string | Uint8Array>;
  end(complete: boolean): Promise<void>;
}

/** What lies in memory is not asked for piece by piece. */
async function sendAll(
  begun: Promise<void> | undefined,
  list: readonly Uint8Array[],
  body: Leaving,
  wire: Wire,
): Promise<void> {
  let complete = false;
  try {
    const length = list.reduce((sum, piece) => sum + piece.length, 0);
    if (length !== body.length) throw notAsSaid(length, body.length);
    if (begun) await begun;
    for (const piece of list) {
      const put = wire.put(piece);
      if (put) await put;
    }
    complete = true;
  } finally {
    await body.close(complete);
  }
}

function fromDisk(body: Leaving): Source {
  return { iterator: opened(body), end: (all) => body.close(all) };
}

/** One that cannot be opened fails as one that cannot be read. */
async function* opened(body: Leaving): AsyncGenerator<Uint8Array> {
  yield* body.open();
}

function pieces(body: AsyncIterable<string | Uint8Array> | Blob): Source {
  const iterable: AsyncIterable<string | Uint8Array> =
    body instanceof Blob ? body.stream() : (body as AsyncIterable<string | Uint8Array>);
  return { iterator: iterable[Symbol.asyncIterator](), end: async () => undefined };
}

/** A piece lives only until the next is asked for, so none is asked for before the last has left. */
async function send(
  begun: Promise<void> | undefined,
  { iterator, end }: Source,
  framing: Framing | undefined,
  wire: Wire,
): Promise<void> {
  const framed = framing === "chunked";
  let complete = false;
  let length = 0;
  // Whoever waits for a piece that never comes would wait for ever.
  wire.whenGone(() => void letGo(iterator));
  try {
    if (begun) await begun;
    for (;;) {
      const { done, value } = await iterator.next();
      if (done) break;
      if (value.length === 0) continue;
      length += Buffer.byteLength(value);
      if (typeof framing === "number" && length > framing) throw notAsSaid(length, framing);
      const put = framed ? putChunk(value, wire) : wire.put(value);
      if (put) await put;
    }
    if (typeof framing === "number" && length < framing) throw notAsSaid(length, framing);
    const last = framed ? wire.put("0\r\n\r\n") : undefined;
    if (last) await last;
    complete = true;
  } finally {
    wire.whenGone(nothing);
    if (!complete) await letGo(iterator);
    await end(complete);
  }
}

function putChunk(value: string | Uint8Array, wire: Wire): Promise<void> | undefined {
  const size = Buffer.byteLength(value).toString(16);
  if (typeof value === "string") return wire.put(`${size}\r\n${value}\r\n`);
  if (value.length > joinedBytes) return putLong(`${size}\r\n`, value, wire);
  return wire.put(Buffer.concat([Buffer.from(`${size}\r\n`), value, Buffer.from("\r\n")]));
}

/** Up to here a copy costs less than a call to the system; above, copies would pile up faster than they are collected. */
const joinedBytes = 8 * 1024;

async function putLong(size: string, value: Uint8Array, wire: Wire): Promise<void> {
  for (const part of [size, value, "\r\n"]) {
    const put = wire.put(part);
    if (put) await put;
  }
}

/** The caller would take the next answer for the rest of this one, or the rest for the next. */
const notAsSaid = (length: number, said: number): Error =>
  new Error(`An answer of ${said} bytes turned out to have ${length}.`);

const nothing = (): void => undefined;

/** What a source has to say when it is let go interests nobody any more. */
async function letGo(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // It ended in the way it would have ended anyhow.
  }
}
