/**
 * Assembles responses and writes them to the socket of a connection, with backpressure: bytes that the socket does not
 * accept are queued until it drains. Bounds the time and the memory of responses that clients do not read.
 */
import { STATUS_CODES } from "node:http";
import {
  type BodyChunks,
  copyChunks,
  joinChunks,
  type OutgoingResponse,
} from "../../request/http-types.ts";

export class ClientDisconnected extends Error {
  override readonly name = "ClientDisconnected";
}

export class SocketWriter {
  /** Bytes that the socket has accepted, of all responses. */
  sentBytes = 0;
  /** Bytes of the same response that are in memory and not yet given to this writer: they follow the unsent bytes. */
  heldBytes = 0;
  readonly #socket: Pick<Bun.Socket<unknown>, "write">;
  #unsent: Buffer | undefined;
  #sent: PromiseWithResolvers<void> | undefined;
  #isClosed = false;
  #onDisconnect: (() => void) | undefined;

  constructor(socket: Pick<Bun.Socket<unknown>, "write">) {
    this.#socket = socket;
  }

  /** Bytes are queued until the client reads. */
  get isBlocked(): boolean {
    return this.#unsent !== undefined;
  }

  /** Bytes that the socket has not accepted yet. */
  get unsentBytes(): number {
    return this.#unsent?.length ?? 0;
  }

  /** Undefined where the socket has accepted all bytes already. Rejects when the client disconnects. */
  write(data: string | Uint8Array): Promise<void> | undefined {
    if (this.#isClosed) return Promise.reject(new ClientDisconnected());
    const written = this.#unsent ? 0 : Math.max(0, this.#socket.write(data));
    this.sentBytes += written;
    // Every character is at least one byte, so the length in bytes is needed only where all characters were accepted.
    if (written >= data.length && written >= Buffer.byteLength(data)) return undefined;
    return this.#queue(typeof data === "string" ? Buffer.from(data) : asBuffer(data), written);
  }

  /** Like `write`, for a response in the write buffer. */
  writeBuffered({ bytes, from, length }: BufferedResponse): Promise<void> | undefined {
    if (this.#isClosed) return Promise.reject(new ClientDisconnected());
    const written = this.#unsent ? 0 : Math.max(0, this.#socket.write(bytes, from, length));
    this.sentBytes += written;
    if (written >= length) return undefined;
    return this.#queue(Buffer.from(bytes.subarray(from, from + length)), written);
  }

  /** Calls back when the client disconnects; immediately, if it has. */
  onDisconnect(callback: () => void): void {
    if (this.#isClosed) callback();
    else this.#onDisconnect = callback;
  }

  /** The socket accepts more bytes. */
  onDrain(): void {
    const unsent = this.#unsent;
    if (!unsent) return;
    const written = Math.max(0, this.#socket.write(unsent));
    this.sentBytes += written;
    // A buffer that was freed meanwhile is empty: `sentBytes` then shows that bytes are missing.
    this.#unsent = written < unsent.length ? unsent.subarray(written) : undefined;
    if (this.#unsent) return;
    const sent = this.#sent;
    this.#sent = undefined;
    sent?.resolve();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#unsent = undefined;
    this.#sent?.reject(new ClientDisconnected());
    this.#onDisconnect?.();
  }

  #queue(bytes: Buffer, written: number): Promise<void> {
    const rest = bytes.subarray(written);
    this.#unsent = this.#unsent ? Buffer.concat([this.#unsent, rest]) : rest;
    this.#sent ??= Promise.withResolvers();
    return this.#sent.promise;
  }
}

const asBuffer = ({ buffer, byteOffset, length }: Uint8Array): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, length);

/** The minimum average rate at which a client must read its response, in bytes per second. */
const minRate = 8 * 1024;

/**
 * Write timeout: ends the response to a client that reads it too slowly. A timeout of silence alone would let a client
 * that reads a few bytes now and then keep its connection. Bytes that the operating system has accepted count as read:
 * the system's buffers hide the client's exact pace, so the rate is an average over the whole timeout.
 */
export class WriteTimeout {
  readonly #timeoutMs: number;
  /** When the current period began, and the bytes sent before. Undefined while the client has read everything. */
  #period: { readonly start: number; readonly sentBytes: number } | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Called about once a second. True if the client was below the minimum rate for the whole timeout. */
  isOver(
    now: number,
    { sentBytes, isBlocked }: Pick<SocketWriter, "sentBytes" | "isBlocked">,
  ): boolean {
    const period = this.#period;
    if (isBlocked && period && now - period.start <= this.#timeoutMs) return false;
    this.#period = isBlocked ? { start: now, sentBytes } : undefined;
    if (!isBlocked || !period) return false;
    return (sentBytes - period.sentBytes) * 1000 < minRate * (now - period.start);
  }
}

/**
 * The most unread bytes of the responses of all clients. Above it, clients that have read nothing for
 * `slowReaderMs` are reset.
 */
const maxUnsentBytes = 256 * 1024 * 1024;
const slowReaderMs = 2_000;

/** The socket of a client that reads a response. */
interface Reader {
  readonly unsentBytes: number;
  readonly lastActivityAt: number;
  reset(): void;
}

/** Unread responses must not fill the memory: the client that has read nothing for longest is reset first. */
export function resetSlowReaders(sockets: Iterable<Reader>, now: number): void {
  let bytes = 0;
  for (const { unsentBytes } of sockets) bytes += unsentBytes;
  if (bytes <= maxUnsentBytes) return;
  const slow = [...sockets].filter(
    ({ unsentBytes, lastActivityAt: since }) => unsentBytes > 0 && now - since > slowReaderMs,
  );
  for (const socket of slow.sort((a, b) => a.lastActivityAt - b.lastActivityAt)) {
    bytes -= socket.unsentBytes;
    socket.reset();
    if (bytes <= maxUnsentBytes) return;
  }
}

const statusLines = new Map<number, string>();

function statusLine(status: number): string {
  const cached = statusLines.get(status);
  if (cached !== undefined) return cached;
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Unknown"}\r\n`;
  statusLines.set(status, line);
  return line;
}

/** A line break in a value would start another header; clients decode non-ASCII bytes in different ways. */
const invalidCharacter = /[^\t\x20-\x7e]/;
const invalidCharacters = new RegExp(invalidCharacter, "g");

/**
 * `headerLines`: whole lines, added to `headers`. Does not change `headers`: they may be shared by several responses.
 */
export function responseHead(
  status: number,
  headers: Readonly<Record<string, string>>,
  headerLines: string,
): string {
  let head = statusLine(status);
  for (const name in headers) {
    const value = headers[name] as string;
    head += `${name}: ${invalidCharacter.test(value) ? value.replace(invalidCharacters, "?") : value}\r\n`;
  }
  return `${head}${headerLines}\r\n`;
}

/** One header line per cookie. */
export const cookieLines = (setCookies: readonly string[]): string =>
  setCookies.map((value) => `set-cookie: ${value.replace(invalidCharacters, "?")}\r\n`).join("");

/** A whole response with a short text body, after which the connection is closed. `date`: a whole header line. */
export function closingResponse({ status, headers, body }: OutgoingResponse, date: string): string {
  const length = `content-length: ${Buffer.byteLength(body as string)}\r\n`;
  return `${responseHead(status, headers, `${length}connection: close\r\n${date}`)}${body}`;
}

/**
 * Space for the head. It is written after the body, because it contains the length of the body, and ends where the body
 * begins.
 */
const headBytes = 4 * 1024;
/** Maximum length of the body, in characters of up to three bytes each. */
const maxBodyCharacters = 32 * 1024;
/**
 * Write buffer: one buffer, shared by all connections, in which head and body of a small response are joined. Joining
 * them as strings would leave garbage of the response's size to the collector.
 */
const writeBuffer = Buffer.allocUnsafeSlow(headBytes + 3 * maxBodyCharacters);

/** A response in the write buffer. It must be written or copied before the next response is assembled. */
interface BufferedResponse {
  readonly bytes: Buffer;
  readonly from: number;
  readonly length: number;
}

/** `head`: returns the head for a body of that many bytes, in ASCII. Undefined where the response does not fit. */
export function assembleResponse(
  parts: BodyChunks,
  head: (bytes: number) => string,
): BufferedResponse | undefined {
  let characters = 0;
  for (const part of parts) characters += part.length;
  if (characters > maxBodyCharacters) return undefined;
  const end = copyChunks(parts, writeBuffer, headBytes);
  const first = head(end - headBytes);
  if (first.length > headBytes) return undefined;
  const from = headBytes - first.length;
  writeBuffer.write(first, from, "latin1");
  return { bytes: writeBuffer, from, length: end - from };
}

/**
 * Joins a body that is too large for the write buffer. A string that is written in several steps would be encoded again
 * at each.
 */
export function joinParts(parts: BodyChunks): Uint8Array {
  const [first] = parts;
  return parts.length === 1 && typeof first === "object" ? first : joinChunks(parts);
}
