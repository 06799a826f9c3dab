/** Step 14: bytes leave, no faster than the caller takes them. */
import type { Leaving, Outgoing } from "../../gateway/incoming.ts";
import { answerHead } from "./answer-head.ts";
import { type OnDesk, putTogether } from "./desk.ts";
import type { RequestHead } from "./head.ts";

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
  if (typeof body === "string") {
    const head = (bytes: number): string =>
      answerHead(status, headers, (bare ? "" : `content-length: ${bytes}\r\n`) + more);
    const whole = silent ? undefined : putTogether(body, head);
    if (whole) return wire.putOff(whole);
    const first = head(Buffer.byteLength(body));
    return wire.put(silent ? first : first + body);
  }
  const length = lengthOf(body);
  const framed = length === undefined && knowsChunks;
  const framing = framed ? "transfer-encoding: chunked\r\n" : "";
  const told = length === undefined ? framing : `content-length: ${length}\r\n`;
  const begun = wire.put(answerHead(status, headers, told + more));
  if (silent) return begun;
  if (body instanceof Uint8Array) return begun ? begun.then(() => wire.put(body)) : wire.put(body);
  return send(begun, isLeaving(body) ? fromDisk(body) : pieces(body), framed, wire);
}

/** The caller has left before there was an answer: whoever makes one is told that nobody takes it. */
export async function leaveUntaken({ body }: Outgoing): Promise<void> {
  if (typeof body === "string" || body instanceof Uint8Array || body instanceof Blob) return;
  if (isLeaving(body)) await body.close(false);
  else await body[Symbol.asyncIterator]().return?.();
}

const isLeaving = (body: Exclude<Outgoing["body"], string>): body is Leaving => "open" in body;

function lengthOf(body: Exclude<Outgoing["body"], string>): number | undefined {
  if (body instanceof Blob) return body.size;
  return "length" in body ? body.length : undefined;
}

/** A source of pieces, and who is told how it ended. */
interface Source {
  readonly iterator: AsyncIterator<string | Uint8Array>;
  end(complete: boolean): Promise<void>;
}

function fromDisk(body: Leaving): Source {
  return { iterator: body.open()[Symbol.asyncIterator](), end: (all) => body.close(all) };
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
  framed: boolean,
  wire: Wire,
): Promise<void> {
  let complete = false;
  // Whoever waits for a piece that never comes would wait for ever.
  wire.whenGone(() => void letGo(iterator));
  try {
    if (begun) await begun;
    for (;;) {
      const { done, value } = await iterator.next();
      if (done) break;
      if (value.length === 0) continue;
      const put = framed ? putChunk(value, wire) : wire.put(value);
      if (put) await put;
    }
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
  return wire.put(Buffer.concat([Buffer.from(`${size}\r\n`), value, Buffer.from("\r\n")]));
}

const nothing = (): void => undefined;

/** What a source has to say when it is let go interests nobody any more. */
async function letGo(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // It ended in the way it would have ended anyhow.
  }
}
