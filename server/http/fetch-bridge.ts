/**
 * Serves requests by a fetch handler (`Request` and `Response`), such as a Hono app. Bodies are streamed both ways: a
 * body is read no faster than the handler reads it, and a response no faster than the client does.
 */
import type {
  IncomingRequest,
  OutgoingResponse,
  StreamedResponseBody,
} from "../request/http-types.ts";

/** A request with the members that become a `Request`. */
export interface BridgedRequest extends IncomingRequest {
  /** All headers, with names in lower case. A repeated header occurs several times. */
  headerEntries(): Iterable<readonly [string, string]>;
  /** The chunks of the body, within the bounds of size and time. Throws GatewayError. There is one reader. */
  chunks(): AsyncIterable<Uint8Array>;
}

export type FetchHandler = (request: Request) => Promise<Response>;

/** Up to this size, a JSON response is sent at once. */
const maxWholeBytes = 256 * 1024;
/** Headers that the HTTP server writes itself. */
const serverHeaders: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "date",
  "keep-alive",
  "set-cookie",
  "transfer-encoding",
]);

/** Rejects with the error that the handler throws. */
export async function serveByFetch(
  incoming: BridgedRequest,
  handler: FetchHandler,
): Promise<OutgoingResponse> {
  return toOutgoing(await handler(toRequest(incoming)));
}

function toRequest(incoming: BridgedRequest): Request {
  const { method, path, search, publicUrl, signal } = incoming;
  const headers = new Headers();
  for (const [name, value] of incoming.headerEntries()) headers.append(name, value);
  // The client's `host` header may not be a valid host.
  const origin = URL.canParse(publicUrl) ? new URL(publicUrl).origin : "http://localhost";
  // Unescaped, `#` and `?` would end the path of the URL, and a backslash would count as a slash.
  const escapedPath = path.replace(/[#?\\]/g, encodeURIComponent);
  // The handler serves HEAD as GET, and the HTTP server sends only the head of the response, with the same length.
  const served = method === "HEAD" ? "GET" : method;
  // `Request` refuses a GET with a body, also in lower case.
  const isRead = served.toUpperCase() === "GET";
  const request = new Request(`${origin}${escapedPath}${search}`, {
    method: isRead ? "GET" : served,
    headers,
    signal,
    ...(!isRead && { body: bodyStream(incoming), duplex: "half" }),
  });
  // Methods are case-sensitive (RFC 9110), but `Request` changes some to upper case, and Bun's changes a method that it
  // does not know to GET. The handler would then serve it as a read, instead of refusing it.
  if (request.method !== served) Object.defineProperty(request, "method", { value: served });
  return request;
}

/** Nothing is read before the handler asks for it. */
function bodyStream(incoming: BridgedRequest): ReadableStream<Uint8Array> {
  let chunks: AsyncIterator<Uint8Array> | undefined;
  return new ReadableStream(
    {
      pull: async (controller) => {
        chunks ??= incoming.chunks()[Symbol.asyncIterator]();
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => {
        await chunks?.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

async function toOutgoing(response: Response): Promise<OutgoingResponse> {
  const { status, body } = response;
  const headers: Record<string, string> = {};
  for (const [name, value] of response.headers) if (!serverHeaders.has(name)) headers[name] = value;
  const setCookies = response.headers.getSetCookie();
  const head = { status, headers, ...(setCookies.length > 0 && { setCookies }) };
  if (!body) return { ...head, body: "" };
  const length = response.headers.get("content-length");
  if (length !== null) return { ...head, body: streamedBody(body, Number(length)) };
  const chunks = chunksOf(body);
  // A handler produces JSON all at once; other types may be streams whose first chunk must not wait for the next.
  const isJson = headers["content-type"]?.startsWith("application/json");
  if (!isJson) return { ...head, body: iterable(chunks) };
  return { ...head, body: await wholeOrChunks(chunks) };
}

/** A small body at once, with its length. A larger one in chunks. */
async function wholeOrChunks(chunks: AsyncIterator<Uint8Array>): Promise<OutgoingResponse["body"]> {
  const first: Uint8Array[] = [];
  for (let bytes = 0; bytes <= maxWholeBytes; ) {
    const { done, value } = await chunks.next();
    if (done) return Buffer.concat(first);
    first.push(value);
    bytes += value.length;
  }
  return iterable({
    next: async () => {
      const value = first.shift();
      return value ? { done: false, value } : chunks.next();
    },
    return: async () => {
      await chunks.return?.();
      return { done: true, value: undefined };
    },
  });
}

const iterable = (chunks: AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]: () => chunks,
});

const streamedBody = (
  stream: ReadableStream<Uint8Array>,
  length: number,
): StreamedResponseBody => ({
  length,
  open: () => iterable(chunksOf(stream)),
  close: async (complete) => {
    if (!complete && !stream.locked) await stream.cancel();
  },
});

/** `return` cancels the stream, also while a chunk is awaited: a client that has disconnected needs no more. */
function chunksOf(stream: ReadableStream<Uint8Array>): AsyncIterator<Uint8Array> {
  const reader = stream.getReader();
  return {
    next: () => reader.read() as Promise<IteratorResult<Uint8Array>>,
    return: async () => {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
}
